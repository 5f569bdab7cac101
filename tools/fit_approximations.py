#!/usr/bin/python3
"""Derives the coefficients of src/base/portable_math_inline.h and src/base/random/normal_transform.h, and prints them as C.

Every function is approximated by a polynomial, or a quotient of two, with the smallest largest relative error (Remez:
interpolate with an error of alternating sign at some points, move the points to where the error is largest, repeat), in
60 decimal digits. Coefficients are rounded to double only when they are printed; the error printed beside each table is
that of the rounded coefficients in exact arithmetic. Needs Debian's python3-mpmath.

    tools/fit_approximations.py [name...]
"""
import sys

from mpmath import atanh, cos, erfinv, exp, log, matrix, lu_solve, mp, mpf, pi, polyval, sqrt

mp.dps = 60


def evaluate(coefficients, x):
    return polyval(coefficients[::-1], x)


def relative_error(f, p, q, x):
    return evaluate(p, x) / evaluate(q, x) / f(x) - 1


def fit_at(values, points, n, d):
    """P (degree n), Q (degree d, Q(0) = 1) and E with P/Q = f * (1 + (-1)^i * E) at n + d + 2 points.

    E times Q is not linear in the unknowns; taking that Q from the round before makes it so, and converges."""
    size = n + d + 2
    q = [mpf(1)]
    error = mpf(0)
    for _ in range(40 if d else 1):
        a, b = matrix(size, size), matrix(size, 1)
        for i, x in enumerate(points):
            for j in range(n + 1):
                a[i, j] = x**j
            for j in range(1, d + 1):
                a[i, n + j] = -values[i] * x**j
            a[i, size - 1] = -values[i] * (-1) ** i * evaluate(q, x)
            b[i] = values[i]
        solution = list(lu_solve(a, b))
        p, q, before, error = solution[: n + 1], [mpf(1)] + solution[n + 1 : n + 1 + d], error, solution[-1]
        if abs(error - before) <= abs(error) * mpf(10) ** -6:
            break
    return p, q, error


def extrema(error, low, high, count):
    """The places of the `count` largest alternating extrema of error on [low, high]."""
    samples = 60 * count
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * i / samples) for i in range(samples + 1)]
    values = [error(x) for x in grid]
    places = []
    for i in range(samples + 1):
        left = i == 0 or abs(values[i]) >= abs(values[i - 1]) or values[i] * values[i - 1] < 0
        right = i == samples or abs(values[i]) >= abs(values[i + 1]) or values[i] * values[i + 1] < 0
        if left and right:
            if places and places[-1][1] * values[i] > 0:
                if abs(values[i]) > abs(places[-1][1]):
                    places[-1] = (grid[i], values[i])
            else:
                places.append((grid[i], values[i]))
    while len(places) > count:
        places.pop(0 if abs(places[0][1]) < abs(places[-1][1]) else -1)
    return [x for x, _ in places]


def remez(f, low, high, n, d):
    low, high = mpf(low), mpf(high)
    size = n + d + 2
    points = [(low + high) / 2 - (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * size)) for i in range(size)]
    for _ in range(12):
        values = [f(x) for x in points]
        p, q, levelled = fit_at(values, points, n, d)
        moved = extrema(lambda x: relative_error(f, p, q, x), low, high, size)
        if len(moved) != size:
            raise SystemExit(f"the error has {len(moved)} extrema, not {size}")
        worst = max(abs(relative_error(f, p, q, x)) for x in moved)
        points = moved
        if worst < abs(levelled) * mpf("1.001"):
            break
    return p, q


def table(name, coefficients):
    print(f"    {name} = {{{', '.join(float(c).hex() for c in coefficients)}}}")


def report(name, f, low, high, n, d):
    p, q = remez(f, low, high, n, d)
    p, q = [mpf(float(c)) for c in p], [mpf(float(c)) for c in q]
    low, high = mpf(low), mpf(high)
    error = max(abs(relative_error(f, p, q, low + (high - low) * i / 4000)) for i in range(4001))
    print(f"{name}: degrees {n}/{d} on [{float(low):.6g}, {float(high):.6g}], relative error {float(error):.2e}")
    table("numerator", p)
    if d:
        table("denominator", q)


def exp_rest(r):
    """(e^r - 1 - r) / r^2"""
    return (exp(r) - 1 - r) / r**2 if abs(r) > mpf(10) ** -12 else mpf(1) / 2 + r / 6


def log_rest(z):
    """(2 atanh(s) / s - 2) / z for z = s^2"""
    return (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z if z > mpf(10) ** -20 else mpf(2) / 3 + 2 * z / 5


def normal_centre(r):
    """Quantile of 1/2 + q, divided by q, for r = q^2"""
    q = sqrt(r)
    return sqrt(mpf(2)) * erfinv(2 * q) / q if r > mpf(10) ** -40 else sqrt(2 * pi)


def normal_tail(s):
    """-quantile of t for s = sqrt(-log t)"""
    return sqrt(mpf(2)) * erfinv(1 - 2 * exp(-s * s))


HALF_LN2 = log(mpf(2)) / 2 + mpf(10) ** -6
LOG_END = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 + mpf(10) ** -9
FITS = {
    "exp": (exp_rest, -HALF_LN2, HALF_LN2, 10, 0),
    "expf": (exp_rest, -HALF_LN2, HALF_LN2, 6, 0),
    "log": (log_rest, 0, LOG_END, 6, 0),
    "logf": (log_rest, 0, LOG_END, 3, 0),
    "log1p": (log_rest, 0, mpf(1) / 9, 10, 0),
    "normal_centre": (normal_centre, 0, (mpf(1) / 2 - mpf(2) ** -5) ** 2, 6, 6),
    "normal_tail": (normal_tail, sqrt(5 * log(mpf(2))), sqrt(33 * log(mpf(2))), 5, 4),
}

if __name__ == "__main__":
    for fit in sys.argv[1:] or FITS:
        report(fit, *FITS[fit])
