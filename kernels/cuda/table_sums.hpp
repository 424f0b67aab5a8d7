// Work on all tensors of a vector in one launch: a block takes a segment of a table
// (kernels/segment_table.hpp), or a part of one, instead of a part of one vector.
#pragma once

#include "kernels/cuda/segment_sums.hpp"
#include "kernels/segment_table.hpp"

namespace dedloc::kernels::cuda {

/// A table in device memory, as bodies see it.
struct TableView {
    const TensorSegment* segments;  ///< all segments
    const TensorSegments* tensors;  ///< all tensors
    std::size_t segment_count;      ///< number of segments
    std::size_t tensor_count;       ///< number of tensors
    bool is_aligned;                ///< packs at multiples of 4 elements can be read in one load

    /// Whether the packs of this segment can be read in one load.
    DEDLOC_HOST_DEVICE bool is_vector(const TensorSegment& segment) const {
        return is_aligned && segment.first % kPackElements == 0;
    }
};

/// A row of one tensor with the alignment of its segment, for walk. `Row` as there, but its load
/// and apply are templates over kVector, and enter(index, tensor) replaces prepare.
template <bool kIsVector, class Row>
struct AlignedRow {
    static constexpr bool kVector = kIsVector;
    static constexpr unsigned kAhead = Row::kAhead;
    using Loaded = typename Row::Loaded;

    Row row;  ///< the work on a pack

    /// See walk.
    DEDLOC_HOST_DEVICE void prepare() {}

    template <class Count>
    DEDLOC_HOST_DEVICE Loaded load(std::size_t i, Count count) const {
        return row.template load<kIsVector>(i, count);
    }
    template <class Count, class To>
    DEDLOC_HOST_DEVICE std::uint32_t apply(std::size_t i, Count count, const Loaded& loaded,
                                           To& to) const {
        return row.template apply<kIsVector>(i, count, loaded, to);
    }
};

/// walk over elements first … end − 1 of a segment.
template <class Row, class To>
DEDLOC_HOST_DEVICE inline void walk_segment(const Row& row, const TableView& table,
                                            const TensorSegment& segment, std::size_t first,
                                            std::size_t end, unsigned thread, To& to) {
    if (table.is_vector(segment)) {
        walk(AlignedRow<true, Row>{row}, first, end, thread, to);
    } else {
        walk(AlignedRow<false, Row>{row}, first, end, thread, to);
    }
}

/// Sums each segment of a table in one block, in the order of SegmentSums, and writes sum k of
/// segment s to sums[k × segments + s].
template <class Row>
struct TableSums {
    static constexpr unsigned kPhases = 1 + kFolds;
    using Shared = SharedLanes<Row::kSums>;
    using Local = Nothing;

    Row row;
    TableView table;
    double* sums;  ///< output

    std::size_t blocks() const { return table.segment_count; }

    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const TensorSegment segment = table.segments[block];
        Row here = row;
        here.enter(segment.tensor, table.tensors[segment.tensor]);
        double lanes[Row::kSums][kPackElements] = {};
        walk_segment(here, table, segment, segment.first, segment.first + segment.count, thread,
                     lanes);
        for (unsigned k = 0; k < Row::kSums; ++k) {
            for (unsigned j = 0; j < kPackElements; ++j) {
                shared.sums[k][kPackElements * thread + j] = lanes[k][j];
            }
        }
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local&) const {
        fold_once(shared, thread, phase);
        if (phase != kFolds || thread != 0) return;
        for (unsigned k = 0; k < Row::kSums; ++k) {
            sums[k * table.segment_count + block] = shared.sums[k][0];
        }
    }
};

/// Adds up the segment sums of each tensor by the same rule, one tensor in each block, whose thread
/// 0 then calls finish(index, tensor, totals) with kSums doubles. If `sums` is null, totals are 0.
template <unsigned kSums, class Finish>
struct TensorTotals {
    static constexpr unsigned kPhases = 1 + kFolds;
    using Shared = SharedLanes<kSums>;
    using Local = Nothing;

    const double* sums;
    TableView table;
    Finish finish;

    std::size_t blocks() const { return table.tensor_count; }

    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const TensorSegments tensor = table.tensors[block];
        const std::size_t segments = sums == nullptr ? 0 : tensor.count;
        for (unsigned k = 0; k < kSums; ++k) {
            const std::size_t from = k * table.segment_count + tensor.first;
            for (std::size_t lane = thread; lane < kLanes; lane += kThreads) {
                double sum = 0;
                for (std::size_t s = lane; s < segments; s += kLanes) sum += sums[from + s];
                shared.sums[k][lane] = sum;
            }
        }
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local&) const {
        fold_once(shared, thread, phase);
        if (phase != kFolds || thread != 0) return;
        double totals[kSums];
        for (unsigned k = 0; k < kSums; ++k) totals[k] = shared.sums[k][0];
        finish(block, table.tensors[block], totals);
    }
};

/// A body over independent elements of all tensors, from the last segment to the first: after
/// another pass over the data, the second-level cache still holds its end. A segment has as many
/// blocks as the longest one needs, so those behind the end of a short segment do nothing.
template <class Row>
struct TableElements {
    static constexpr unsigned kPhases = 1;
    static constexpr std::size_t kBlockElements = Row::kAhead * kLanes;
    static constexpr std::size_t kBlocks =
        kSegmentElements / kBlockElements;  ///< blocks for a segment
    static_assert(kSegmentElements % kBlockElements == 0);
    using Shared = Nothing;
    using Local = Nothing;

    Row row;
    TableView table;

    DEDLOC_HOST_DEVICE std::size_t blocks() const { return kBlocks * table.segment_count; }

    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local&) const {
        const std::size_t forward = blocks() - 1 - block;
        const TensorSegment segment = table.segments[forward / kBlocks];
        const std::size_t first = kBlockElements * (forward % kBlocks);
        if (first >= segment.count) return;
        const std::size_t end =
            first + kBlockElements < segment.count ? first + kBlockElements : segment.count;
        Row here = row;
        here.enter(segment.tensor, table.tensors[segment.tensor]);
        walk_segment(here, table, segment, segment.first + first, segment.first + end, thread,
                     shared);
    }
    DEDLOC_HOST_DEVICE void resume(unsigned, std::size_t, unsigned, Shared&, Local&) const {}
};

}  // namespace dedloc::kernels::cuda
