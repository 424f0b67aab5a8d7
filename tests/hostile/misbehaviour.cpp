// Reads kMisbehaviourNames, whose order is that of the enumeration; a new value needs only its name
// there.
#include "tests/hostile/misbehaviour.hpp"

namespace dedloc::hostile {

std::optional<Misbehaviour> misbehaviour_named(std::string_view name) {
    for (std::size_t i = 0; i < kMisbehaviours; ++i) {
        if (name == kMisbehaviourNames[i]) return static_cast<Misbehaviour>(i);
    }
    return std::nullopt;
}

}  // namespace dedloc::hostile
