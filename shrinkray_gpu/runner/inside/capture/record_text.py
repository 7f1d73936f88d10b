"""Records of launches in words: sources and texts instead of live objects, in the form that `schema` says."""

from __future__ import annotations

import traceback
from typing import Any, Dict, List

from . import compilations, inductor_launches, overlaps
from .kernelsource import Sources, Unliftable
from .live_values import is_jit

Record = Dict[str, Any]


def in_words(record: Record) -> Record:
    """The record with sources and texts instead of live objects, ready for JSON."""
    kernel = record["kernel"]
    name = getattr(kernel, "__name__", "?")
    if record["trouble"]:
        return {"kernel": name, "trouble": record["trouble"]}
    try:
        sources = Sources()
        storages: Dict[int, int] = {}
        is_file = isinstance(kernel, compilations.IRFile)
        kernel_name = name if is_file else sources.function(kernel, record["specialised"])
        arguments, overlap = overlaps.merge_storages(record["arguments"])
        source = {"source": compilations.in_words(sources, record["source"])} if "source" in record else {}
        return {
            "kernel": kernel_name,
            "trouble": "",
            "how": record["how"],
            "tuning": record["tuning"],
            "graph": record.get("graph", False),
            "launch": record["launches"][0] if record["launches"] else None,
            "notes": list(record["specialised"].get("notes", ())),
            "grid": record["grid"],
            "arguments": [as_text(sources, storages, argument) for argument in arguments],
            "overlap": overlap,
            "options": _options(sources, record),
            "allocator": record["allocator"] and record["scratch"] != 0,
            "definitions": sources.definitions,
            **source,
        }
    except Unliftable as error:
        return {"kernel": name, "trouble": str(error)}
    except Exception:  # our own mistake: said in the run, and no reason to lose it
        return {"kernel": name, "trouble": traceback.format_exc()}


def _options(sources: Sources, record: Record) -> List[Record]:
    options = [as_text(sources, {}, option) for option in record["options"]]
    if record["how"] != "inductor":
        return options
    return inductor_launches.without_checks(options, "".join(definition["text"] for definition in sources.definitions))


def as_text(sources: Sources, storages: Dict[int, int], argument: Record) -> Record:
    """The argument with its values in words and its storages numbered from 0."""
    out = dict(argument)
    out.pop("address", None)
    if "value" in out:
        value = out.pop("value")
        if is_jit(value) and out["kind"] == "value":
            out["text"] = sources.function(value)
        else:
            out["text"] = sources.literal(value)
    if "layout" in out:
        out["layout"] = sources.literal(out["layout"])
    if "items" in out:
        out["items"] = [as_text(sources, storages, item) for item in out["items"]]
    if "named" in out:
        out["named"] = sources.named_tuple(out["named"])
    if "base" in out:
        out["base"] = as_text(sources, storages, out["base"])
    if "storage" in out:
        out["storage"] = storages.setdefault(out["storage"], len(storages))
    return out
