// Blocks are as many as fit on the device at once, or a small multiple of that: each leaves one row
// of sums, and rows of sums are read again.
#include "boinc_app/cuda/layers.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <type_traits>

#include "boinc_app/cuda/column_body.hpp"
#include "boinc_app/cuda/norm_body.hpp"
#include "boinc_app/cuda/trainer_launch.hpp"

namespace dedloc::training {
namespace {

constexpr unsigned kMaxPacks = 4;
/// Blocks of ColumnWalk on a multiprocessor, so that the last ones to end are a small part.
constexpr std::size_t kColumnBlocks = 6;

struct RowDivision {
    unsigned packs = 0;
    unsigned threads = 0;
};

/// How the columns of a row are divided among threads, with as many packs each as there may be.
std::optional<RowDivision> divided(std::size_t columns) {
    for (unsigned packs = kMaxPacks; packs > 0; --packs) {
        if (columns % (kPackElements * packs) != 0) continue;
        const std::size_t threads = columns / (kPackElements * packs);
        if (threads >= 2 && threads <= kThreads && std::has_single_bit(threads)) {
            return RowDivision{packs, static_cast<unsigned>(threads)};
        }
    }
    return std::nullopt;
}

/// The layout of a kernel that leaves no sums: each thread works on one row.
RowLayout row_layout(const ShortMatrix& matrix) {
    const auto division = divided(matrix.columns);
    DEDLOC_KERNEL_REQUIRE(division.has_value(), "there is no kernel for so many columns",
                          static_cast<double>(matrix.columns));
    return {.rows = matrix.rows, .columns = matrix.columns, .threads = division->threads};
}

/// The layout of the gradient, which leaves a row of sums for each block: no more blocks than the
/// device runs at the same time, so a thread may work on several rows.
RowLayout gradient_layout(const ShortMatrix& matrix, std::size_t multiprocessors) {
    constexpr unsigned kResident = NormGradientRows<Bfloat16, kMaxPacks>::kResident;
    RowLayout layout = row_layout(matrix);
    const std::size_t at_once = kResident * multiprocessors * layout.side_by_side();
    layout.groups = static_cast<unsigned>((matrix.rows + at_once - 1) / at_once);
    return layout;
}

ColumnLayout column_layout(const ShortMatrix& matrix, std::size_t multiprocessors) {
    DEDLOC_KERNEL_REQUIRE(matrix.rows > 0 && matrix.columns > 0 && matrix.columns % kEight == 0,
                          "a matrix has a multiple of 8 columns",
                          static_cast<double>(matrix.columns));
    const std::size_t threads = matrix.columns / kEight;
    const std::size_t across = (threads + kThreads - 1) / kThreads;
    ColumnLayout layout{.rows = matrix.rows,
                        .columns = matrix.columns,
                        .block_rows = 0,
                        .block_threads = static_cast<unsigned>((threads + across - 1) / across),
                        .across = across};
    const std::size_t down = std::max<std::size_t>(kColumnBlocks * multiprocessors / across, 1);
    const std::size_t rows = (matrix.rows + down - 1) / down;
    const std::size_t at_once = layout.side_by_side();
    layout.block_rows = (rows + at_once - 1) / at_once * at_once;
    return layout;
}

/// Rows of sums that a ColumnWalk leaves.
std::size_t rows_of_sums(const ColumnLayout& layout) {
    return layout.down() * layout.side_by_side();
}
std::size_t rows_of_sums(const RowLayout& layout) {
    return layout.block_count() * layout.side_by_side();
}

/// Calls call(T{}) with the type of a matrix's values.
template <class Call>
void with_type(const ShortMatrix& matrix, const Call& call) {
    if (matrix.is_bf16) {
        call(Bfloat16{});
    } else {
        call(Half{});
    }
}

/// Calls call(packs) with a constant.
template <class Call>
void with_packs(const ShortMatrix& matrix, const Call& call) {
    switch (divided(matrix.columns)->packs) {
        case 1:
            return call(std::integral_constant<unsigned, 1>{});
        case 2:
            return call(std::integral_constant<unsigned, 2>{});
        case 3:
            return call(std::integral_constant<unsigned, 3>{});
        default:
            return call(std::integral_constant<unsigned, kMaxPacks>{});
    }
}

}  // namespace

template <class Body>
void Layers::run(const Body& body, const char* what) const {
    enqueue_for_trainer(body, stream_, what);
}

Layers::Layers(kernels::cuda::StreamView stream, unsigned multiprocessors)
    : stream_(stream), multiprocessors_(std::max(multiprocessors, 1U)) {}

bool Layers::has_kernels(std::size_t hidden, std::size_t ffn) const {
    return hidden % kEight == 0 && divided(hidden).has_value() && ffn % kEight == 0;
}

std::size_t Layers::workspace_floats(const ShortMatrix& matrix, unsigned vectors) const {
    const std::size_t rows = vectors == 1 ? rows_of_sums(column_layout(matrix, multiprocessors_))
                                          : rows_of_sums(gradient_layout(matrix, multiprocessors_));
    return rows * vectors * matrix.columns;
}

void Layers::add_norm(const ShortMatrix& matrix, const AddNorm& from, const AddNormResult& to) {
    const RowLayout layout = row_layout(matrix);
    with_type(matrix, [&]<class T>(T) {
        with_packs(matrix, [&](auto packs) {
            run(NormRows<T, packs()>{layout, from, to}, "adding and normalising");
        });
    });
}

void Layers::add_norm_gradient(const ShortMatrix& matrix, const AddNorm& of,
                               const AddNormGradient& gradient) {
    const RowLayout layout = gradient_layout(matrix, multiprocessors_);
    with_type(matrix, [&]<class T>(T) {
        with_packs(matrix, [&](auto packs) {
            run(NormGradientRows<T, packs()>{layout, of, gradient}, "the gradient of a layer norm");
        });
    });
    run(RowSums{gradient.workspace, rows_of_sums(layout), 3 * matrix.columns, gradient.by_vectors},
        "adding up columns");
}

void Layers::bias_gelu(const ShortMatrix& matrix, const void* product, const float* bias,
                       void* out) {
    const ColumnLayout layout = column_layout(matrix, multiprocessors_);
    with_type(matrix, [&]<class T>(T) {
        run(ColumnWalk<T, ColumnWork::kGelu>{layout, static_cast<const T*>(product), bias, nullptr,
                                             static_cast<T*>(out), nullptr},
            "GELU");
    });
}

void Layers::bias_gelu_gradient(const ShortMatrix& matrix, const void* product, const float* bias,
                                const void* by_out, void* by_product, float* by_bias,
                                float* workspace) {
    const ColumnLayout layout = column_layout(matrix, multiprocessors_);
    with_type(matrix, [&]<class T>(T) {
        run(ColumnWalk<T, ColumnWork::kGeluGradient>{layout, static_cast<const T*>(product), bias,
                                                     static_cast<const T*>(by_out),
                                                     static_cast<T*>(by_product), workspace},
            "the gradient of GELU");
    });
    run(RowSums{workspace, rows_of_sums(layout), matrix.columns, by_bias}, "adding up columns");
}

void Layers::column_sums(const ShortMatrix& matrix, const void* values, float* sums,
                         float* workspace) {
    const ColumnLayout layout = column_layout(matrix, multiprocessors_);
    with_type(matrix, [&]<class T>(T) {
        run(ColumnWalk<T, ColumnWork::kSum>{layout, static_cast<const T*>(values), nullptr, nullptr,
                                            nullptr, workspace},
            "adding up columns");
    });
    run(RowSums{workspace, rows_of_sums(layout), matrix.columns, sums}, "adding up columns");
}

}  // namespace dedloc::training
