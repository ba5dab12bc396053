"""Stand-ins for the objects of template strings (PEP 750; CPython: Objects/templateobject.c, Objects/interpolationobject.c).

They dissolve where their parts are taken: a function that formats a template string leaves what an f-string leaves.
"""

import importlib
from typing import Any, Final

from hovis.ir import operations
from hovis.library.core import Library
from hovis.library.language.stepping import END, Steps

TEMPLATES: Final = Library("template strings")


def _module() -> Any:
    """Return the module ``string.templatelib``; None before 3.14."""
    try:
        return importlib.import_module("string.templatelib")
    except ImportError:
        return None


_LIBRARY: Final = _module()
if _LIBRARY is not None:
    INTERPOLATION: Final[Any] = _LIBRARY.Interpolation
    TEMPLATE: Final[Any] = _LIBRARY.Template
    _CONVERSIONS: Final = (None, "s", "r", "a")

    @TEMPLATES.model(INTERPOLATION, makes=True, eager=True)
    def interpolation(value: Any, expression: Any = "", conversion: Any = None, format_spec: Any = "") -> Any:
        texts = type(expression) is str and type(format_spec) is str and (conversion is None or type(conversion) is str)
        if not texts or conversion not in _CONVERSIONS:
            return INTERPOLATION.__new__(INTERPOLATION, value, expression, conversion, format_spec)
        return Interpolation(value, expression, conversion, format_spec)

    @TEMPLATES.stand(
        INTERPOLATION, INTERPOLATION, "held text how spec", frozen=True, opened=lambda i: (i.value, i.expression, i.conversion, i.format_spec)
    )
    class Interpolation:
        def __init__(self, held: Any, text: Any, how: Any, spec: Any) -> None:
            self.held = held
            self.text = text
            self.how = how
            self.spec = spec

        @property
        def value(self) -> Any:
            return self.held

        @property
        def expression(self) -> Any:
            return self.text

        @property
        def conversion(self) -> Any:
            return self.how

        @property
        def format_spec(self) -> Any:
            return self.spec

    @TEMPLATES.model(TEMPLATE, makes=True, eager=True)
    def template(*args: Any) -> Any:
        texts: list[Any] = []
        inserted: list[Any] = []
        text: Any = ""
        for part in args:
            if type(part) is str:
                text = text + part
            elif type(part) is INTERPOLATION:
                texts.append(text)
                inserted.append(part)
                text = ""
            else:
                return TEMPLATE.__new__(TEMPLATE, *args)
        return Template((*texts, text), (*inserted,))

    @TEMPLATES.stand(TEMPLATE, operations.make_template, "texts inserted", frozen=True, opened=lambda t: (t.strings, t.interpolations))
    class Template:
        def __init__(self, texts: Any, inserted: Any) -> None:
            self.texts = texts
            self.inserted = inserted

        @property
        def strings(self) -> Any:
            return self.texts

        @property
        def interpolations(self) -> Any:
            return self.inserted

        @property
        def values(self) -> Any:
            return (*[one.value for one in self.inserted],)

        def __iter__(self) -> Any:
            return TemplateParts(self)

    @TEMPLATES.stand(type(iter(TEMPLATE())), iter, "template", when={"at": 0, "within": False}, quiet=True)
    class TemplateParts(Steps):
        def __init__(self, template: Any) -> None:
            self.template = template
            self.at = 0
            self.within = False

        def step(self) -> Any:
            texts = self.template.strings
            while self.at < len(texts):
                if self.within:
                    self.within = False
                    self.at += 1
                    return self.template.interpolations[self.at - 1]
                text = texts[self.at]
                if self.at + 1 < len(texts):
                    self.within = True
                else:
                    self.at += 1
                if text:
                    return text
            return END
