/* plots.js - plots of figures over time, by uPlot. A screen reader cannot read a canvas, so each plot says its last
 * figures in words. */
import uPlot from './uplot.js'
import {clockTime, fullTime, h, number, tell} from './dom.js'

document.head.append(h('link', {rel: 'stylesheet', href: 'uplot.css'}))

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const plots = new Set()
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach(p => p.redraw(false, true)))
const width = new ResizeObserver(entries => {
  for (const {target, contentRect} of entries) {
    const plot = [...plots].find(p => p.root.parentElement === target)
    if (plot && contentRect.width > 0) plot.setSize({width: Math.floor(contentRect.width), height: plot.height})
  }
})

export const COLOURS = ['--plot-1', '--plot-2', '--plot-3', '--plot-4', '--plot-5', '--plot-6']
const SHORT = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e4, 'k', 1e3],
]
function short(n) {
  const [, word, by] = SHORT.map(([from, word, by]) => [from, word, by ?? from]).find(
    ([from]) => Math.abs(n) >= from,
  ) ?? [0, '', 1]
  return number(n / by) + word
}

/* The text at an axis of times: days, minutes or seconds, by their distance. */
const tick = (ms, step) =>
  ms % 1000 ? '' : step >= 86_400 ? fullTime(ms).slice(5, 10) : clockTime(ms).slice(0, step < 60 ? 8 : 5)
/* The places of values without a neighbour, which no line can show. */
const alone = values =>
  values.flatMap((v, i) => (v != null && values[i - 1] == null && values[i + 1] == null ? [i] : []))

const PEAK = 4,
  ROOM = 1.5
/* The top of a plot. A burst would press all else flat, so it is cut off: where the highest value is more than four
 * times as high as four fifths of those above zero are at most. */
export function topOf(series) {
  const values = series.flat().filter(n => n > 0).sort((a, b) => a - b),
    highest = values.at(-1) ?? 0,
    usual = (values[Math.floor((values.length - 1) * 0.8)] ?? 0) * ROOM
  return usual > 1 && highest > usual * PEAK ? usual : highest
}

/* series: [{label, unit?, colour?: 0.., gaps?: true: the line bridges times without a value, steps?: true}] */
export class Plot {
  constructor(title, series, {signal, height = 120, seconds = false} = {}) {
    this.series = series
    this.values = series.map(s => h('b', null, '–'))
    const keys = h(
      'span',
      {class: 'keys'},
      series.map((s, i) =>
        h(
          'span',
          null,
          h('i', {class: 'key-' + (s.colour ?? i)}),
          s.label + ' ',
          this.values[i],
          s.unit ? ' ' + s.unit : '',
        ),
      ),
    )
    this.peak = h('span', {hidden: true})
    keys.append(this.peak)
    this.room = h('div', {class: 'canvas', role: 'img', 'aria-label': title})
    this.element = h(
      'figure',
      {class: 'plot'},
      h('figcaption', null, h('span', {class: 'title'}, title), keys),
      this.room,
    )
    this.title = title
    this.options = {height, seconds}
    signal?.addEventListener('abort', () => this.end())
  }

  #open(data) {
    const colour = name => () => style(name)
    const axis = {
      stroke: colour('--muted'),
      grid: {stroke: colour('--grid'), width: 1},
      ticks: {show: false},
      font: '11px system-ui, sans-serif',
    }
    this.plot = new uPlot(
      {
        width: Math.max(100, Math.floor(this.room.clientWidth)),
        height: this.options.height,
        legend: {show: false},
        cursor: {
          drag: {x: false, y: false},
          points: {size: 5},
          y: false,
          sync: this.options.seconds ? {key: 'seconds'} : undefined,
        },
        scales: {y: {range: (u, low, high) => [Math.min(0, low ?? 0), Math.max(this.top ?? high ?? 1, 1) * 1.05]}},
        padding: [6, 8, 0, 0],
        axes: [
          {...axis, size: 24, space: 60, values: (u, all, axis, space, step) => all.map(t => tick(t * 1000, step))},
          {
            ...axis,
            size: 42,
            space: 30,
            gap: 4,
            values: (u, all) => all.map(n => (Number.isInteger(n) ? short(n) : '')),
          },
        ],
        series: [
          {value: (u, t) => clockTime(t * 1000)},
          ...this.series.map((s, i) => ({
            stroke: colour(COLOURS[s.colour ?? i]),
            width: 1.5,
            spanGaps: s.gaps ?? false,
            points: {show: true, size: 4, filter: (u, of) => alone(u.data[of])},
            paths: s.steps ? uPlot.paths.stepped({align: 1}) : undefined,
          })),
        ],
        hooks: {setCursor: [u => this.#read(u.cursor.idx)]},
      },
      data,
      this.room,
    )
    plots.add(this.plot)
    width.observe(this.room)
  }

  /* The figures in words: under the pointer, otherwise the last ones. */
  #read(at) {
    const {data} = this
    this.values.forEach((value, i) => {
      let n = at == null ? null : data[i + 1][at]
      if (at == null) for (let k = data[i + 1].length; k-- > 0 && n == null;) n = data[i + 1][k]
      tell(value, number(n))
    })
    if (at == null)
      this.room.setAttribute(
        'aria-label',
        this.title +
          ': ' +
          this.series.map((s, i) => `${s.label} ${this.values[i].textContent} ${s.unit ?? ''}`.trim()).join(', '),
      )
  }

  show(data) {
    this.data = data
    if (this.options.seconds) {
      const highest = data.slice(1).reduce((all, of) => of.reduce((top, n) => Math.max(top, n ?? 0), all), 0)
      this.top = topOf(data.slice(1))
      this.peak.hidden = this.top >= highest
      tell(this.peak, `cut off: up to ${number(highest)}`)
    }
    if (this.plot) this.plot.setData(data)
    else this.#open(data)
    if (this.plot.cursor.idx == null) this.#read(null)
  }

  end() {
    if (!this.plot) return
    width.unobserve(this.room)
    plots.delete(this.plot)
    this.plot.destroy()
    this.plot = null
  }
}
