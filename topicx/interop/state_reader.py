"""Read a state, whoever wrote it: the format is found from the file's name and its first bytes."""

from __future__ import annotations

import os
from pathlib import Path

from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.files import container
from topicx.files.file_kinds import STATE
from topicx.interop import gibbslda, lightlda, mallet_state, tomotopy, warplda
from topicx.interop.format_names import READ as FORMATS
from topicx.state import State


def read_state(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    topics: int | None = None,
) -> State:
    """Read a state that topicx or another program has written, and check it throughout.

    Parameters
    ----------
    path : str or path
        The file with the assignments, the prefix that its files share, or a folder with one state.
    format : str, optional
        "topicx", "mallet", "warplda", "lightlda", "gibbslda" or "tomotopy". By default it is found out.
    alpha, beta : float, optional
        Priors, for LightLDA's files, which do not say them.
    topics : int, optional
        Number of topics, for LightLDA's files.

    Returns
    -------
    State
        Tokens, their topics, and the priors.

    Raises
    ------
    InputError
        If a file is missing, or what it holds is not consistent; the message names the file and the line.
    """
    name = os.fspath(path)
    source: InputSource | None = None
    if format is None:
        format, name, source = detect_state_format(name)
    if format not in FORMATS:
        raise InputError(f"--input-format: {format!r} is not one of {', '.join(FORMATS)}")
    if format != "lightlda" and not (alpha is None and beta is None and topics is None):
        raise InputError(f"{name}: --alpha, --beta and --topics are for LightLDA; a {format} state says them itself")
    if format == "topicx":  # verified as it is read
        return State.from_file(container.read(name, STATE, None if source is None else source.blocks()))
    if format == "mallet":
        state = mallet_state.read(name, source)
    elif format == "warplda":
        state = warplda.read(name)
    elif format == "gibbslda":
        state = gibbslda.read(name)
    elif format == "tomotopy":
        state = tomotopy.read(name)
    else:
        state = lightlda.read(name, alpha=alpha, beta=beta, topics=topics)
    try:
        state.verify()
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from None
    return state


def detect_state_format(name: str) -> tuple[str, str, InputSource | None]:
    """The format, the file to read, and for MALLET the source that is already open (standard input reads once)."""
    path = Path(name)
    if name != "-" and path.is_dir():
        return _find_state_in_folder(path)
    if name != "-" and not path.exists():
        found = _by_prefix(name)
        if found:
            return found[0], found[1], None
        raise InputError(f"{name}: is not there")
    plain = name.removesuffix(".gz")
    if plain.endswith((".z.estimate", ".z.inference")):
        return "warplda", name, None
    if plain.endswith((".tassign", ".others")):
        return "gibbslda", name, None
    if lightlda.is_block(name):
        return "lightlda", name, None
    if container.is_topicx(name):
        return "topicx", name, None
    source = InputSource(name)
    start = source.peek(4096)
    if start[:4] == b"#doc":
        return "mallet", name, source
    if container.starts_topicx(start):
        return "topicx", name, source
    source.close()
    if tomotopy.is_tomotopy(start):
        return "tomotopy", name, None
    if plain.endswith((".model", ".vocab")) and (found := _by_prefix(str(warplda.prefix_of(name)))):
        return found[0], found[1], None
    if lightlda.is_dump(name):
        raise InputError(f"{name}: holds counts, not a state: no token's topic can be known from it")
    if not start:
        raise InputError(f"{source.shown}: is empty")
    raise InputError(
        f"{source.shown}: is not a state that is known: topicx's, MALLET's (--output-state), WarpLDA's (.z.estimate), "
        "LightLDA's (block.N), GibbsLDA++'s (.tassign) or tomotopy's LDAModel"
    )


def _by_prefix(name: str) -> tuple[str, str] | None:
    for format, ending in (("warplda", ".z.estimate"), ("gibbslda", ".tassign")):
        for candidate in (f"{name}{ending}", f"{name}{ending}.gz"):
            if Path(candidate).is_file():
                return format, candidate
    return None


def _find_state_in_folder(path: Path) -> tuple[str, str, None]:
    names = sorted(p.name for p in path.iterdir() if p.is_file())
    found: list[tuple[str, str]] = []
    if any(lightlda.is_block(name) for name in names):
        found.append(("lightlda", str(path)))
    for format, ending in (("warplda", ".z.estimate"), ("gibbslda", ".tassign")):
        found += [(format, str(path / n)) for n in names if n.removesuffix(".gz").endswith(ending)]
    if not found:
        raise InputError(f"{path}: is a folder without block.N, *.z.estimate or *.tassign; name the state's file")
    if len(found) > 1:
        raise InputError(f"{path}: holds several states ({', '.join(Path(f[1]).name for f in found)}); name one")
    return found[0][0], found[0][1], None
