// Only whole() copies bytes, and only if the frame has bulk: all other uses write the three pieces
// to the link from where they are.
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
