"""The shapes of PLRsearch by their definitions, with hundreds of digits.

A line in is a JSON list: shape, load, rate, spread as strings, then the smallest and the largest load and the loss ratio,
or null. A line out is the logarithm of the loss, or the critical load.
"""

import json
import sys

from mpmath import erf, erfc, exp, log, log1p, mp, mpf, pi, sqrt

mp.dps = 150


def stretch(load, rate, spread):
    return spread * (log1p(exp((load - rate) / spread)) - log1p(exp(-rate / spread)))


def integrated_erf(load, rate, spread):
    # The formula of draft-vpolak-bmwg-plrsearch-03, "Erf Function".
    gauss = spread * (exp(-(((load - rate) / spread) ** 2)) - exp(-((rate / spread) ** 2))) / sqrt(pi)
    whole = gauss + rate * erfc(rate / spread) + (load - rate) * erfc((rate - load) / spread)
    return whole / (1 + erf(rate / spread))


SHAPES = {"Stretch": stretch, "Erf": integrated_erf}

for line in sys.stdin:
    shape, *numbers = json.loads(line)
    loss = SHAPES[shape]
    load, rate, spread, low, high, loss_ratio = (None if number is None else mpf(float(number)) for number in numbers)
    if loss_ratio is None:
        print(mp.nstr(log(loss(load, rate, spread)), 25))
        continue
    for _ in range(50):
        middle = (low + high) / 2
        if loss(middle, rate, spread) > loss_ratio * middle:
            high = middle
        else:
            low = middle
    print(mp.nstr(low, 25))
