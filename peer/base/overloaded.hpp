// One function object of several lambdas, for std::visit().
#pragma once

namespace dedloc {

/// Calls the one of its handlers that overload resolution chooses for the argument.
template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
/// Deduces the types of the handlers; clang 14 does not do that for an aggregate by itself.
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace dedloc
