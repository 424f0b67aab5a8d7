// All bytes of a StableBytes at once.
#pragma once

#include <memory>
#include <utility>

#include "peer/base/stable_bytes.hpp"

namespace dedloc {

inline SharedBytes copy_of(const StableBytes& bytes) {
    Buffer copy(static_cast<std::size_t>(bytes.size()));
    bytes.read(0, copy);
    return std::make_shared<const Buffer>(std::move(copy));
}

}  // namespace dedloc
