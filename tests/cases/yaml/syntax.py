"""Hostile YAML, each with what it is and the code it is refused with; and what looks so and is not.

Whoever writes a reader of YAML may try these: nothing in them belongs to Assay.
"""

_BILLION = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
)

REFUSED: dict[str, tuple[str, str]] = {
    # Aliases, anchors and what is built of them.
    "nine levels of nine aliases each: 387 million values": (_BILLION, "yaml-anchor"),
    "an anchor that nothing uses": ("a: &x 1\n", "yaml-anchor"),
    "an alias of nothing": ("a: *x\n", "yaml-alias"),
    "an alias as a key": ("*x : 1\n", "yaml-alias"),
    "a merge of a mapping": ("a: {b: 1}\nc: {<<: {b: 2}}\n", "yaml-merge"),
    "a merge of an alias": ("<<: *x\n", "yaml-merge"),
    "a merge key as a value": ("a: <<\n", "yaml-merge"),
    # Tags.
    "a tag that calls a program": ("a: !!python/object/apply:os.system ['id']\n", "yaml-tag"),
    "a tag of the core schema on a number": ("a: !!str 12\n", "yaml-tag"),
    # Words of which YAML 1.1 and 1.2 make different things.
    "yes, which is true in 1.1": ("a: yes\n", "yaml-ambiguous"),
    "on, which is true in 1.1": ("a: on\n", "yaml-ambiguous"),
    "on as a key": ("on: 1\n", "yaml-ambiguous"),
    "1:30:15, which is 5415 in 1.1": ("a: 1:30:15\n", "yaml-ambiguous"),
    "0o17, which is 15 in 1.2 and text in 1.1": ("a: 0o17\n", "yaml-ambiguous"),
    "-007": ("a: -007\n", "yaml-ambiguous"),
    "0b11, which is 3 in 1.1": ("a: 0b11\n", "yaml-ambiguous"),
    "0x_1F, which is 31 in 1.1": ("a: 0x_1F\n", "yaml-ambiguous"),
    "1_000.5, which is 1000.5 in 1.1": ("a: 1_000.5\n", "yaml-ambiguous"),
    "1.0E3, which is text to most readers of 1.1": ("a: 1.0E3\n", "yaml-ambiguous"),
    "a time, which 1.1 makes an object": ("a: 2025-11-01T12:00:00Z\n", "yaml-ambiguous"),
    "=, which is the value key of 1.1": ("a: =\n", "yaml-ambiguous"),
    # Numbers.
    "an infinity": ("a: .inf\n", "yaml-number"),
    "no number": ("a: .nan\n", "yaml-number"),
    "a number beyond a double": ("a: 1.0e+999\n", "yaml-number"),
    "a million digits": ("a: 1" + "0" * 900_000 + "\n", "yaml-text"),
    # Keys.
    "a key twice": ("a: 1\na: 2\n", "yaml-duplicate"),
    "a key twice, once in quotes": ("a: 1\n'a': 2\n", "yaml-duplicate"),
    "a key twice, once by escapes": ('a: 1\n"\\x61": 2\n', "yaml-duplicate"),
    "a number as a key": ("1: a\n", "yaml-key"),
    "a truth as a key": ("true: a\n", "yaml-key"),
    "nothing as a key": ("null: a\n", "yaml-key"),
    "no key at all": ("? \n: a\n", "yaml-key"),
    # More than anybody needs.
    "100,000 lists in each other": ("[" * 100_000, "yaml-depth"),
    "33 lists, properly closed": ("[" * 33 + "]" * 33, "yaml-depth"),
    "200,000 values": ("[" + "1," * 200_000 + "]", "yaml-nodes"),
    "a text of a hundred thousand characters": ("a: '" + "x" * 100_000 + "'\n", "yaml-text"),
    "a block of a hundred thousand characters": ("a: |\n  " + "x" * 100_000 + "\n", "yaml-text"),
    "two million characters": ("# " + "x" * 2_000_000 + "\na: 1\n", "file-size"),
    # Documents and directives.
    "nothing": ("", "yaml-empty"),
    "a comment alone": ("# nothing\n", "yaml-empty"),
    "a second document": ("a: 1\n---\na: 2\n", "yaml-documents"),
    "an empty second document": ("a: 1\n---\n", "yaml-documents"),
    "a document behind the end of one": ("a: 1\n...\nb: 2\n", "yaml-syntax"),
    "a directive for another version": ("%YAML 1.1\n---\na: 1\n", "yaml-directive"),
    "a directive that renames tags": ("%TAG ! tag:evil.example:\n---\na: 1\n", "yaml-directive"),
    # What no parser takes.
    "a tab for an indent": ("a:\n\tb: 1\n", "yaml-syntax"),
    "a list that does not end": ("a: [1, 2\n", "yaml-syntax"),
    "quotes that do not end": ("a: 'b\n", "yaml-syntax"),
    "a lone half of a surrogate pair": ("a: \ud800\n", "encoding"),
}
"""By what it is: the text, and the code of its refusal."""

TAKEN: dict[str, tuple[str, object]] = {
    "words of the core schema": (
        "[null, ~, true, False, 12, -3, +4, 0x1F, 1.5, 1., .5, 1.5e+3, -0]\n",
        [None, None, True, False, 12, -3, 4, 31, 1.5, 1.0, 0.5, 1500.0, 0],
    ),
    "an empty value": ("a:\n", {"a": None}),
    "what is in quotes is text": (
        "['yes', \"1:30\", '0461', '2025-11-01', '12', 'null', '<<', '*x', '&x', '!x']\n",
        ["yes", "1:30", "0461", "2025-11-01", "12", "null", "<<", "*x", "&x", "!x"],
    ),
    "what is in a block is text": ("a: |\n  yes\nb: >\n  0461\n", {"a": "yes\n", "b": "0461\n"}),
    "letters that only the letter of 1.1 takes for truths": ("{n: 1, y: 2}\n", {"n": 1, "y": 2}),
    "text with colons, ampersands and stars in it": (
        "a: one:two & three * four\n", {"a": "one:two & three * four"},
    ),
    "a version is text": ("a: 1.2.3\n", {"a": "1.2.3"}),
    "a marked beginning and end": ("---\na: 1\n...\n", {"a": 1}),
    "a byte order mark": ("\ufeffa: 1\n", {"a": 1}),
    "32 levels": ("[" * 32 + "]" * 32, None),
}  # fmt: skip
"""By what it is: the text, and its value; None where that is not looked at."""
