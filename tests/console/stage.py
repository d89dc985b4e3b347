"""A service of its own and a real Chromium in front of it: what the tests of the console and its pictures stand on."""
import base64
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'kit'))
import patience                     # noqa: E402
from child import adopt_orphans, end_with_us       # noqa: E402
from patience import PATIENCE_S     # noqa: E402

START_S, WAIT_S = 6 * PATIENCE_S, 1.5 * PATIENCE_S

# The visible control of this text, or of this name for screen readers; in a dialog, where one is open.
CONTROL = """(() => { const room = document.querySelector('dialog[open]') ?? document, [name] = arguments
    return [...room.querySelectorAll('button, a, summary, input[type=checkbox]')].find(e =>
        !e.disabled && e.checkVisibility() &&
        [e.innerText?.trim(), e.ariaLabel, e.closest('label')?.innerText.trim()].includes(name)) })()"""
FIELD = """(() => { const room = document.querySelector('dialog[open]') ?? document, [name] = arguments
    const label = [...room.querySelectorAll('label')].find(l => l.innerText.trim() === name && l.checkVisibility())
    return label ? document.getElementById(label.htmlFor)
        : [...room.querySelectorAll('input')].find(e => e.ariaLabel === name) })()"""
HIDDEN = "Object.defineProperty(document, 'hidden', {value: true, configurable: true})"    # nothing is polled any more

CHECKS = []


def check(long=False, dies=False, keys=False):
    """A check(page, service). dies: it kills the service, so calls fail meanwhile. keys: on the service with keys."""
    def kept(function):
        CHECKS.append((function.__name__, function, long, dies, keys))
        return function
    return kept


def missing():
    """The first program that is not installed here, or None."""
    for program in ('chromium', 'chromedriver'):
        if not shutil.which(program):
            return program
    try:
        import selenium     # noqa: F401
    except ImportError:
        return 'python3-selenium'
    return None


class Service:
    """The program on a folder of its own, always at the same port; `die` kills it as a fault would."""

    def __init__(self, program, folder, *flags):
        self.command = [program, 'serve', '--data', f'{folder}/data', '--jobs=expire,reap,deliver', *flags]
        self.log, self.at, self.key = open(f'{folder}/log', 'ab'), '127.0.0.1:0', None
        self.start()

    def start(self):
        from_here = self.log.tell()
        self.process = subprocess.Popen([*self.command, '--listen', self.at], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.log,
                                        start_new_session=True, preexec_fn=end_with_us)
        began = time.monotonic()
        while not patience.is_over(began, START_S) and self.process.poll() is None:
            text = pathlib.Path(self.log.name).read_bytes()[from_here:].decode(errors='replace')
            told = re.search(r'event=listening address=(\S+)', text)
            if told:
                self.at = told[1]
                return
            time.sleep(.05)
        raise RuntimeError(f'{self.command[0]} does not start in {time.monotonic() - began:.0f} s: {pathlib.Path(self.log.name).read_text()[-800:]}')

    def sql(self, text):
        """The rows of a statement, each a list of texts."""
        out = subprocess.run(['mariadb', '--no-defaults', '--user=root', f'--socket={self.command[3]}/mariadbd.sock', '--batch', '--raw',
                              '--skip-column-names', 'holdfast', '-e', text], check=True, capture_output=True, text=True).stdout
        return [line.split('\t') for line in out.splitlines()]

    def die(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(patience.scaled(START_S))

    def call(self, method, path, body=None):
        """The status of the answer and what it says."""
        headers = {'Content-Type': 'application/json', **({'Authorization': f'Bearer {self.key}'} if self.key else {})}
        asked = urllib.request.Request(f'http://{self.at}/{path}', method=method, headers=headers,
                                       data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(asked, timeout=patience.scaled(6 * PATIENCE_S)) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, text = refused.code, refused.read()
        return status, json.loads(text) if text else None


class Page:
    """Chromium, headless. What it logs and what the policy forbids is gathered. Its temporary files lie in a folder of its own, below
    `folder`: a browser whose driver is killed leaves them behind."""

    def __init__(self, folder):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service as Driver
        self.room = tempfile.mkdtemp(prefix='t', dir=folder)        # a socket lies there: the path must be short
        options = webdriver.ChromeOptions()
        for flag in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--window-size=1280,900'):
            options.add_argument(flag)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(options=options, service=Driver(env={**os.environ, 'TMPDIR': self.room}))
        self.command('Page.addScriptToEvaluateOnNewDocument', source='''window.violations = []
            addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI))''')

    def command(self, name, **parts):
        return self.driver.execute_cdp_cmd(name, parts)

    def js(self, text, *values):
        return self.driver.execute_script(text, *values)

    def open(self, service, place):
        self.driver.get('about:blank')
        self.driver.get(f'http://{service.at}/console/#/{place}')

    def go(self, place):
        self.js('location.hash = arguments[0]', '#/' + place)

    def reload(self):
        """Loads the page again. What is asked from now on is not answered by the page as it was."""
        self.js('window.before = true; location.reload()')
        self.until("!window.before && document.querySelector('main h1')")

    def text(self):
        return self.js('return document.body.innerText')

    def until(self, what, *values, within_s=WAIT_S):
        """Waits until this JavaScript expression holds, and gives its value."""
        began = time.monotonic()
        while True:
            found = self.js('return ' + what, *values)
            if found:
                return found
            if patience.is_over(began, within_s):
                raise AssertionError(f'not so in {time.monotonic() - began:.0f} s: {what} {values}\n{self.text()[:1500]}')
            time.sleep(.03)

    def says(self, text, within_s=WAIT_S):
        return self.until('document.body.innerText.includes(arguments[0])', text, within_s=within_s)

    def press(self, text, find=CONTROL):
        from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException
        began = time.monotonic()
        while not patience.is_over(began, WAIT_S):      # a poll may put another one in its place
            try:
                return self.until(find, text).click()
            except (ElementClickInterceptedException, StaleElementReferenceException):
                time.sleep(.05)
        raise AssertionError(f'cannot be pressed: {text}')

    def keys(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_in_dialog(self, text):
        """The button that opens a dialog may have the same text, and the dialog may open after a call."""
        self.until("document.querySelector('dialog[open]')")
        self.press(text)

    def fill(self, label, text):
        field = self.until(FIELD, label)
        if field.tag_name == 'select':      # its choices may come with an answer
            self.until('[...arguments[0].options].some(o => o.value === arguments[1])', field, text)
            self.js('''arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))
                arguments[0].dispatchEvent(new Event('change', {bubbles: true}))''', field, text)
            return
        field.clear()
        field.send_keys(text)
        if not text:    # clearing alone tells no listener
            self.js("arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", field)

    def width(self, width):
        self.command('Emulation.setDeviceMetricsOverride', width=width, height=900, deviceScaleFactor=1, mobile=width < 600)

    def dark(self, dark):
        self.command('Emulation.setEmulatedMedia',
                     features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])

    def picture(self, file, width, height):
        clip = {'x': 0, 'y': 0, 'width': width, 'height': height, 'scale': 1}
        data = self.command('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip=clip)['data']
        pathlib.Path(file).write_bytes(base64.b64decode(data))

    def complaints(self, service_dies=False):
        """The complaints of the browser: its log, the policy, requests to elsewhere."""
        found = [f"{line['source']}: {line['message']}" for line in self.driver.get_log('browser')
                 if line['source'] != 'network' or not service_dies]
        found += [f'policy: {text}' for text in self.js('return window.violations ?? []')]
        found += [f'elsewhere: {text}' for text in self.js(
            'return performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin) && !n.startsWith("data:"))')]
        return found

    def close(self):
        with contextlib.suppress(Exception):
            self.driver.quit()
        for _ in range(100):
            shutil.rmtree(self.room, ignore_errors=True)    # a browser without its driver ends, and writes, a moment later
            if not os.path.exists(self.room):
                return
            time.sleep(.1)


def ended(pid):
    """Waits until this child has ended; -1: all of them, until each has."""
    began = time.monotonic()
    with contextlib.suppress(ChildProcessError):
        while not patience.is_over(began, START_S):
            os.waitpid(pid, os.WNOHANG)
            time.sleep(.05)


def in_group(main):
    """Runs main in a process group of its own, which ends with this process, however that ends: otherwise a Chromium
    lives on when its driver was killed. A service is in no group: it ends when main does, and its database with it."""
    adopt_orphans()
    child = os.fork()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_with_us()
    if child == 0:
        os.setsid()
        os._exit(main())
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except SystemExit:
        os.kill(child, signal.SIGTERM)      # it closes what it has opened
        ended(child)
        raise
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, how)
                time.sleep(.3)
        ended(-1)
