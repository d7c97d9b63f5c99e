"""Formulas as MathML, which browsers draw themselves: no script and no network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer, node):
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer, node):
    identifiers = "".join(f'<span id="{name}"></span>' for name in node.get("ids", ()))
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="math">{identifiers}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; ``html_math_renderer = "mathml"`` takes it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
