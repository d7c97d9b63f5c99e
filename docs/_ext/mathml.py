"""Formulas as MathML, which browsers draw themselves: no script and no network."""

from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ACCENTS = "~ˉ^"


def mathml(tex, block=False):
    """The formula; indices of a letter with an accent stand beside it, not below or after it."""
    ElementTree.register_namespace("", NAMESPACE)
    text = tex2mathml(tex, as_block=block).replace("&ApplyFunction;", "\u2061")
    root = ElementTree.fromstring(text)
    for node in list(root.iter(f"{{{NAMESPACE}}}munderover")):
        letter, index, accent = node
        if (accent.text or "").strip() in ACCENTS:
            node.tag = f"{{{NAMESPACE}}}msub"
            for child in (letter, index, accent):
                node.remove(child)
            over = ElementTree.SubElement(node, f"{{{NAMESPACE}}}mover", {"accent": "true"})
            over.extend([letter, accent])
            node.append(index)
    for node in list(root.iter(f"{{{NAMESPACE}}}msup")):
        if node[0].tag == f"{{{NAMESPACE}}}msub":  # an exponent above the index, not beside it
            node.tag = f"{{{NAMESPACE}}}msubsup"
            node[:1] = list(node[0])
    for node in root.iter(f"{{{NAMESPACE}}}mo"):
        if (node.text or "").strip() == "|":  # a bar of |λ|, not an operator with space around it
            node.attrib.update({"lspace": "0", "rspace": "0", "stretchy": "false"})
    return ElementTree.tostring(root, encoding="unicode")


def _inline(writer, node):
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer, node):
    identifiers = "".join(f'<span id="{name}"></span>' for name in node.get("ids", ()))
    writer.body.append(f'<div class="math">{identifiers}{mathml(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; ``html_math_renderer = "mathml"`` takes it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
