// The operators of TorchScript that a module may have.
#pragma once

#include <string_view>

namespace dedloc::training::module {

/// Whether forward may have nodes of this kind ("aten::add"). Not listed: files, random numbers,
/// streams and devices, autograd's switches, tasks, classes, output. Operators that write to an
/// operand are refused for all names.
bool is_allowed(std::string_view kind);

/// Whether nodes of this kind may make a list: it is no longer than a tensor has dimensions or
/// parts, or than a list that is there. Others, as list * 10⁹, take memory that is not counted.
bool may_make_list(std::string_view kind);

}  // namespace dedloc::training::module
