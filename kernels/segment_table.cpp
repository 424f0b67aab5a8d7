#include "kernels/segment_table.hpp"

#include <algorithm>
#include <limits>

#include "kernels/check.hpp"
#include "kernels/requirements.hpp"

namespace dedloc::kernels {

SegmentTable::SegmentTable(std::span<const TensorPlace> tensors) {
    DEDLOC_KERNEL_REQUIRE(tensors.size() <= std::numeric_limits<std::uint32_t>::max(),
                          "more tensors than a table can take",
                          static_cast<double>(tensors.size()));
    for (const TensorPlace& tensor : tensors) {
        DEDLOC_KERNEL_REQUIRE(tensor.offset >= end_, "the tensors of a vector overlap or descend",
                              static_cast<double>(tensor.offset), static_cast<double>(end_));
        DEDLOC_KERNEL_REQUIRE(tensor.count <= kMaxElements,
                              "more elements than a reduction can take",
                              static_cast<double>(tensor.count));
        DEDLOC_KERNEL_REQUIRE(
            tensor.offset <= std::numeric_limits<std::uint64_t>::max() - tensor.count,
            "the end of a tensor overflows", static_cast<double>(tensor.offset));
        const auto index = static_cast<std::uint32_t>(tensors_.size());
        const std::uint64_t first = segments_.size();
        end_ = tensor.offset + tensor.count;
        for (std::uint64_t i = tensor.offset; i < end_; i += kSegmentElements) {
            const std::uint64_t count = std::min<std::uint64_t>(kSegmentElements, end_ - i);
            segments_.push_back(
                {.first = i, .count = static_cast<std::uint32_t>(count), .tensor = index});
        }
        tensors_.push_back({.first = first,
                            .count = segments_.size() - first,
                            .decays = tensor.decays,
                            .adapts = tensor.adapts});
    }
}

void require_results(std::size_t places, std::size_t tensors) {
    DEDLOC_KERNEL_REQUIRE(places == 0 || places == tensors,
                          "an update needs a place for the result of each tensor, or none",
                          static_cast<double>(places), static_cast<double>(tensors));
}

}  // namespace dedloc::kernels
