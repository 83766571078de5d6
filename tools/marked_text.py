"""Generated text between two markers of a document that people write; for the tools here."""

from dataclasses import dataclass

from assay.base.errors import BadInput


@dataclass(frozen=True)
class Markers:
    """Where a tool's text begins and ends."""

    begin: str
    end: str

    def block(self, text: str) -> str:
        """Return the text with its markers."""
        return f"{self.begin}\n\n{text}\n\n{self.end}"

    def replaced(self, document: str, text: str, missing: str) -> str:
        """Return ``document`` with what is between the markers replaced. Raises BadInput, whose
        sentence is ``missing``, where they are not both there, in this order.
        """
        head, begin, rest = document.partition(self.begin)
        _, end, tail = rest.partition(self.end)
        if not (begin and end):
            raise BadInput(missing)
        return f"{head}{self.block(text)}{tail}"
