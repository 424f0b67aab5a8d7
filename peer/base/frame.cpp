#include "peer/base/frame.hpp"

namespace dedloc {

SharedBytes Frame::whole() const {
    if (bulk_.empty()) return around_;
    auto bytes = std::make_shared<Buffer>();
    bytes->reserve(size());
    for (const auto& piece : pieces()) bytes->insert(bytes->end(), piece.begin(), piece.end());
    return bytes;
}

}  // namespace dedloc
