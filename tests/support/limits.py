"""The program's own limits, so that a test that reaches one names it: limit("kMaxBodyBytes"), or limit("kMaxMessages", "bus/queue") where
several folders have one of the name. Times are seconds."""

import functools
import pathlib
import re

_SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
_UNITS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "milliseconds": 0.001, "seconds": 1, "minutes": 60, "hours": 3600}


@functools.cache
def _constants():
    """By name, then by folder."""
    found = {}
    for header in _SOURCES.rglob("limits.h"):
        folder = header.parent.relative_to(_SOURCES).as_posix()
        pattern = r"^inline constexpr [\w: ]*\b(k\w+)\s*(?:=\s*([^;]+)|\{([^}]+)\});"
        for name, value, braced in re.findall(pattern, header.read_text(), re.MULTILINE):
            found.setdefault(name, {})[folder] = " ".join((value or braced).split())
    return found


def limit(name, folder=None):
    values = _constants()[name]
    if folder is None:
        folder = "base" if "base" in values else next(iter(values))
        assert folder == "base" or len(values) == 1, f"{name} is in {', '.join(values)}: which one?"
    return sum(map(_product, re.sub(r"std::chrono::(\w+)\(([^)]*)\)", r"\2 * \1", values[folder]).split("+")))


def _product(term):
    product = 1
    for factor in term.split("*"):
        factor = factor.strip().rpartition("::")[2]
        if factor.startswith("k"):
            product *= limit(factor)
        elif factor in _UNITS:
            product *= _UNITS[factor]
        else:
            number, unit = re.fullmatch(r"([\d']+)(ms|s|min|h|LL)?", factor).groups()
            product *= int(number.replace("'", "")) * _UNITS.get(unit, 1)
    return product
