"""Which models there are: a line each. The definition is imported when it is asked for, so that any layer may ask.

Other packages add models by entry points of the group `topicx.models` (name = "module:class"). They are looked up only
for names that are not ours, and for the list in `topicx train --help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicx.declare import check_known
from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.files.schema import Array
    from topicx.models.definition import Definition
    from topicx.sampling.run_options import Options

HOMES: dict[str, str] = {
    "lda": "topicx.models.lda:LatentDirichletAllocation",
    "labeled": "topicx.models.labeled:LabeledDefinition",
    "prior": "topicx.models.labeled:PriorLDA",
    "dependency": "topicx.models.dependency:DependencyLDA",
    "compound": "topicx.models.compound:Compound",
    "dmr": "topicx.models.dmr:DirichletMultinomialRegression",
    "hdp": "topicx.models.hdp:HierarchicalDirichletProcess",
    "keyword": "topicx.models.keyword:Keyword",
    "mixture": "topicx.models.mixture:Mixture",
    "medlda": "topicx.models.medlda:MedldaDefinition",
    "slices": "topicx.models.slices:SlicedDefinition",
}
"""Home of each model: name → module:class."""
GROUP = "topicx.models"
"""The entry points of other packages' models."""


def model_names() -> list[str]:
    """The names of our own models."""
    return list(HOMES)


@cache
def outside_models() -> dict[str, str]:
    """The models of other packages that are installed, by name; no name of ours is theirs."""
    from importlib.metadata import entry_points

    return {found.name: found.value for found in entry_points(group=GROUP) if found.name not in HOMES}


def is_known_model(name: str) -> bool:
    """Whether there is such a model."""
    return name in HOMES or name in outside_models()


def find_definition(name: str) -> type[Definition]:
    """The definition of this name, or InputError listing the names."""
    if not is_known_model(name):
        raise InputError(f"there is no model {name!r}; choose one of {', '.join((*HOMES, *outside_models()))}")
    if name in HOMES:
        return _imported(HOMES[name])
    home = outside_models()[name]
    try:
        return _imported(home)
    except Exception as error:  # whatever the other package does
        raise InputError(f"the model {name} is {home}, which can't be imported: {error!s:.200}") from error


def _imported(home: str) -> type[Definition]:
    module, _, found = home.partition(":")
    definition: type[Definition] = getattr(import_module(module), found)
    return definition


def make_definition(name: str, own: dict[str, Any]) -> Definition:
    """The model of this name with these options of its own."""
    definition = find_definition(name)
    check_known(f"the model {name}", definition.Own, own)
    return definition(definition.Own(**own))


def definition_of(options: Options) -> Definition:
    """The model that the options name."""
    return make_definition(options.model, options.own)


def of_meta(meta: Mapping[str, Any]) -> Definition:
    """The definition that a model or a state remembers; that of LDA for those of other programs."""
    options = meta.get("options", {})
    own = options.get("own", {}) if isinstance(options, dict) else {}
    return make_definition(str(meta.get("model", "lda")), dict(own))


def side_arrays(name: str, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
    """What the side arrays of a state (or, finished, of a model) must be; of a model that a later version has, any."""
    if not is_known_model(name):
        return ()
    definition = find_definition(name)
    return definition.side_arrays(of_meta(dict(meta) | {"model": name}).own, meta, finished)


def with_defaults(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The general options that were given, and those of the model's defaults that they leave open."""
    same = {"alpha": "alpha_sum", "alpha_sum": "alpha"}  # two ways to say one thing
    return {
        option: value
        for option, value in find_definition(name).defaults.items()
        if option not in given and same.get(option) not in given
    } | given
