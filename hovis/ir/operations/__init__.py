"""The callables of the IR that Python itself has no name for.

Each is an ordinary function whose body *is* its meaning: ``evaluate`` calls it, the assembler may know a shorter
instruction sequence.  They print by their bare name.
"""

from hovis.ir.operations.building import (
    arrange,
    bind,
    dict_merge,
    dict_update,
    finish_class,
    is_plain,
    list_extend,
    make_cell,
    make_class,
    make_class_quietly,
    make_dict,
    make_function,
    make_key,
    make_list,
    make_object,
    make_set,
    make_tuple,
)
from hovis.ir.operations.calls import (
    apply,
    apply_all,
    apply_positional,
    context_enter,
    context_exit,
    inherits,
    lacks,
    method_of,
    own_attribute,
)
from hovis.ir.operations.conversions import (
    converted,
    converted_to_float,
    converted_to_hash,
    format_value,
    join_strings,
)
from hovis.ir.operations.exceptions import (
    caught_at,
    current_exception,
    enter_handler,
    exception_matches,
    group_matches,
    in_context,
    leave_handler,
    make_exception,
    passed,
    prepare_reraise,
    raise_again,
    raise_current,
    raise_from,
    raise_now,
    raised,
    stop_iteration_error,
    traceback_of,
    unraisable,
    warn_above,
    warn_at,
    with_attribute,
    with_cause,
    with_note,
)
from hovis.ir.operations.iteration import (
    begun,
    ended_generator,
    is_iterator,
    make_dict_iterator,
    make_iterator,
    make_range_iterator,
    make_reverse_iterator,
    match_at,
    resume_dict_iterator,
    throw_exit,
    unpack,
    unpack_star,
    yield_,
    yield_from,
    yield_from_iter,
)
from hovis.ir.operations.matching import (
    match_class,
    match_keys,
    match_mapping,
    match_sequence,
)
from hovis.ir.operations.sentinels import (
    END,
    PACKAGE,
    UNBOUND,
)
from hovis.ir.operations.variables import (
    cell_contents,
    cell_get,
    cell_set,
    check_bound,
    delete_global,
    delete_name,
    drop,
    import_from,
    import_name,
    keep,
    load_global,
    load_name,
    load_name_or_cell,
    refresh_locals,
    store_global,
    unbound,
    unchanged,
)

__all__ = [
    "END", "PACKAGE", "UNBOUND", "apply", "apply_all", "apply_positional", "arrange", "begun", "bind", "caught_at", "cell_contents",
    "cell_get", "cell_set", "check_bound", "context_enter", "context_exit", "converted", "converted_to_float", "converted_to_hash",
    "current_exception", "delete_global", "delete_name", "dict_merge", "dict_update", "drop", "ended_generator", "enter_handler",
    "exception_matches", "finish_class", "format_value", "group_matches", "import_from", "import_name", "in_context", "inherits",
    "is_iterator", "is_plain", "join_strings", "keep", "lacks", "leave_handler", "list_extend", "load_global", "load_name", "load_name_or_cell",
    "make_cell", "make_class", "make_class_quietly", "make_dict", "make_dict_iterator", "make_exception", "make_function", "make_iterator",
    "make_key", "make_list", "make_object", "make_range_iterator", "make_reverse_iterator", "make_set", "make_tuple", "match_at",
    "match_class", "match_keys", "match_mapping", "match_sequence", "method_of", "own_attribute", "passed", "prepare_reraise", "raise_again",
    "raise_current", "raise_from", "raise_now", "raised", "refresh_locals", "resume_dict_iterator", "stop_iteration_error", "store_global",
    "throw_exit", "traceback_of", "unbound", "unchanged", "unpack", "unpack_star", "unraisable", "warn_above", "warn_at", "with_attribute",
    "with_cause", "with_note", "yield_", "yield_from", "yield_from_iter",
]  # fmt: skip
