"""The command `export`: a saved model as an ONNX graph."""

from rich.markup import escape

from ...onnx.export import to_onnx
from ...onnx.kernels import NoGraphError
from ...persistence import load_model
from ...results import write_bytes
from ..reading.problem import DataError
from ._terminal import Console, check_out

SUFFIX = ".onnx"


def export(path, out, *, single=False, force=False):
    """Write the classifier of a model file as a graph, and say what goes in and comes out."""
    if out.suffix.lower() != SUFFIX:
        raise DataError(f"The file to write must end with {SUFFIX}; got {str(out)!r}.")
    check_out(out, force, inputs=[path])
    model, console = load_model(path), Console()
    classifier = getattr(model, "classifier", model)  # of train or compare, or of save_model
    try:
        graph = to_onnx(classifier, dtype="float32" if single else "float64")
    except NoGraphError as error:
        raise DataError(str(error)) from error
    outputs = {output.name: output for output in graph.graph.output}
    if getattr(model, "temperature", 1.0) != 1.0 and "probabilities" in outputs:
        graph.graph.output.remove(outputs.pop("probabilities"))
        console.print(
            "The probabilities of predict are calibrated by a temperature, which the graph does "
            "not contain: it has no probabilities.",
            soft_wrap=True,
        )
    write_bytes(out, graph.SerializeToString())
    console.print(
        f"{escape(str(out))}: {classifier.n_features_in_} columns in; {', '.join(outputs)} out.",
        soft_wrap=True,
    )
