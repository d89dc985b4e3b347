"""Made-up sales in the shape of the UCI data set `Online Retail`, the same for the same seed.

What makes real files awkward is in them: few codes that sell a lot and many that hardly sell, lines repeated within an
invoice, codes that differ only in case, cancelled invoices, returns of goods never sold, codes that are no code, and
descriptions with commas, quotes and line breaks.
"""
import csv
import random

HEADER = ('InvoiceNo', 'StockCode', 'Description', 'Quantity', 'InvoiceDate', 'UnitPrice', 'CustomerID', 'Country')
WORDS = ('LUNCH BOX', 'T-LIGHT HOLDER', 'MUG, WHITE', 'JAM JAR "HOME"', 'CAFÉ SIGN', 'GARLAND\n3 M', 'CAKE TIN')
ODD_CODES = ('POST', 'D', 'BANK CHARGES', 'GIFT 50%', 'N/A', '#1 "A\\B"')
NO_CODES = (' 22423', '', '..', 'X' * 65, 'DÉPÔT')
QUANTITIES = (1, 1, 1, 2, 2, 3, 4, 6, 6, 8, 12, 12, 24, 48, 144)


def catalogue(chance, size):
    """Codes with a weight each: a few sell most of the units. Every eighth has a twin in the other case."""
    codes = []
    for n in range(size):
        number = chance.randrange(20000, 90000)
        letter = chance.choice(('', '', 'A', 'B', 'L'))
        codes.append(f'{number}{letter}')
        if letter and n % 8 == 0:
            codes.append(f'{number}{letter.lower()}')
    codes = list(dict.fromkeys(codes)) + list(ODD_CODES)
    return codes, [1 / (rank + 3) for rank in range(len(codes))]


def write(path, seed, orders):
    """Writes `orders` invoices and about a tenth as many cancelled ones."""
    chance = random.Random(str(seed))
    codes, weights = catalogue(chance, max(50, orders // 3))
    with open(path, 'w', encoding='utf-8', newline='') as file:
        out = csv.writer(file)
        out.writerow(HEADER)
        for n in range(orders):
            out.writerows(invoice(chance, str(536365 + 2 * n), codes, weights))
            if chance.random() < 0.1:
                out.writerows(cancelled(chance, f'C{536366 + 2 * n}', codes, weights))


def invoice(chance, number, codes, weights):
    bought = chance.choices(codes, weights, k=min(200, 1 + int(chance.expovariate(1 / 12))))
    if len(bought) > 4 and chance.random() < 0.3:
        bought.append(bought[0])
    if chance.random() < 0.02:
        bought.insert(chance.randrange(len(bought) + 1), chance.choice(NO_CODES))
    for code in bought:
        yield row(chance, number, code, chance.choice(QUANTITIES))


def cancelled(chance, number, codes, weights):
    for code in chance.choices(codes, weights, k=chance.randrange(1, 5)):
        yield row(chance, number, code, -chance.choice(QUANTITIES))
    if chance.random() < 0.1:
        yield row(chance, number, chance.choice(('NEVER-SOLD', 'CRUK')), -1)


def row(chance, number, code, quantity):
    date = f'12-{chance.randrange(1, 24):02}-2010 {chance.randrange(8, 20):02}:{chance.randrange(60):02}'
    price = f'{chance.randrange(19, 1500) / 100:.2f}'
    return number, code, chance.choice(WORDS), quantity, date, price, chance.randrange(12346, 18288), 'United Kingdom'
