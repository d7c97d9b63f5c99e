"""Numbers and counts in words, texts that keep their direction, names that look alike."""

import re
import unicodedata

# Characters that turn the direction of writing or end a line: a name may not turn what follows it.
_TURNING = [0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
TURNING = dict.fromkeys(_TURNING, "\ufffd")


def counted(n, noun, many=None):
    """A number and what it counts, in the singular or the plural.

    Parameters
    ----------
    n : int
        The number.
    noun : str
        What one of them is called.
    many : str, default=None
        What several are called, where it is not the noun with an s.

    Returns
    -------
    words : str
        The number and the noun.

    Examples
    --------
    >>> from mahalearn.app.words import counted
    >>> counted(1, "column"), counted(0, "column"), counted(2, "class", "classes")
    ('1 column', '0 columns', '2 classes')
    """
    return f"{n} {noun if n == 1 else many or noun + 's'}"


def number(value, digits=1):
    """A number with a proper minus sign, and none before a zero.

    Examples
    --------
    >>> from mahalearn.app.words import number
    >>> number(-1.26), number(-0.04), number(0.5, 2)
    ('−1.3', '0.0', '0.50')
    """
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def signed(value):
    """A change with its sign, and decimals where it is small.

    Examples
    --------
    >>> from mahalearn.app.words import signed
    >>> signed(0.126), signed(-1.2), signed(998.2)
    ('+0.13', '−1.20', '+998')
    """
    return "+" * (value > 0) + number(value, 0 if abs(value) >= 10 else 2)


def folded(name):
    """A name without case, blanks and invisible characters: the same for names that look alike.

    Examples
    --------
    >>> from mahalearn.app.words import folded
    >>> folded("Größe (MM)") == folded("gro\\u0308ße(mm)\\u200b ")
    True
    >>> folded("1 1/2") == folded("11/2")
    False
    """
    letters = unicodedata.normalize("NFKC", str(name)).casefold()
    letters = re.sub(r"(?<=\d)\s+(?=\d)", "_", letters)  # blanks between digits are seen
    return "".join(c for c in letters if not c.isspace() and unicodedata.category(c) != "Cf")


def like(name, names):
    """The name among others, or the only one that looks like it; None if there is none."""
    if name in names or name is None:
        return name
    near = [one for one in names if folded(one) == folded(name)]
    return near[0] if len(near) == 1 else None


def respelled(words, known):
    """Words that are not known -> the known ones that look like them; none if these look alike.

    Examples
    --------
    >>> from mahalearn.app.words import respelled
    >>> respelled(["Rose", "lily", "tulip"], ["rose", "lily"])
    {'Rose': 'rose'}
    """
    spelled = {folded(word): word for word in known}
    others = sorted(set(words) - set(known)) if len(spelled) == len(known) else []
    return {word: spelled[folded(word)] for word in others if folded(word) in spelled}


def percent(value, digits=1):
    """A share in percent."""
    return f"{number(100 * value, digits)} %"
