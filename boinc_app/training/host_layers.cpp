// A task goes down its rows, each of which stays in the first cache between the loops over it. Sums
// of a row have 64 partial sums, four vectors of AVX-512, which are added up in a fixed order. Sums
// of columns are one row of the workspace for each task, added up at the end in the order of tasks.
#include "boinc_app/training/host_layers.hpp"

#include <algorithm>

#include "boinc_app/training/layer_arithmetic.hpp"

namespace dedloc::training {
namespace {

using kernels::Bfloat16;
using kernels::Half;

/// Rows of a task. A micro-batch of one sample of 512 tokens has work for eight threads.
constexpr std::size_t kTaskRows = 64;
constexpr std::size_t kPartialSums = 64;

std::size_t task_count(const ShortMatrix& matrix) {
    return (matrix.rows + kTaskRows - 1) / kTaskRows;
}

DEDLOC_HOST_DEVICE inline void shorten(float x, Bfloat16& to) {
    to.bits = kernels::to_bfloat16(x).bits;
}
/// Values beyond the range become infinite, by which the loss scale finds out that it is too large.
DEDLOC_HOST_DEVICE inline void shorten(float x, Half& to) {
    constexpr std::uint32_t kBeyond = 0x477ff000;  // 65,520
    const std::uint32_t magnitude = kernels::magnitude_bits(x);
    const std::uint32_t infinite = 0x7c00U | ((std::bit_cast<std::uint32_t>(x) >> 16) & 0x8000U);
    const bool is_infinite = magnitude >= kBeyond && magnitude <= 0x7f800000U;
    to.bits = static_cast<std::uint16_t>(
        kernels::choose(is_infinite, infinite, kernels::to_half(x).bits));
}

/// The partial sums of a row.
struct PartialSums {
    float of[kPartialSums] = {};

    DEDLOC_HOST_DEVICE float total() {
        for (std::size_t half = kPartialSums / 2; half > 0; half /= 2) {
            for (std::size_t i = 0; i < half; ++i) of[i] += of[i + half];
        }
        return of[0];
    }
};

/// Calls each(column, place of its partial sum) for all columns of a row.
template <class Each>
DEDLOC_HOST_DEVICE inline void along_row(std::size_t columns, const Each& each) {
    std::size_t first = 0;
    for (; first + kPartialSums <= columns; first += kPartialSums) {
        DEDLOC_INDEPENDENT
        for (std::size_t i = 0; i < kPartialSums; ++i) each(first + i, i);
    }
    for (std::size_t i = 0; first + i < columns; ++i) each(first + i, i);
}

/// The rows of a task.
struct Rows {
    std::size_t first = 0;
    std::size_t end = 0;
    std::size_t columns = 0;
};

template <class T>
struct NormRowsLoop {
    DEDLOC_LOOP void run(Rows rows, AddNorm from, AddNormResult to) {
        const auto* const products = static_cast<const T*>(from.product);
        auto* const short_outs = static_cast<T*>(to.short_out);
        const float* const bias = from.bias;
        const float* const gain = from.gain;
        const float* const shift = from.shift;
        const auto width = static_cast<float>(rows.columns);
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const T* const product = products + row * rows.columns;
            const float* const residual = from.residual + row * rows.columns;
            float* const out = to.out + row * rows.columns;
            T* const short_out = short_outs + row * rows.columns;
            PartialSums sums;
            along_row(rows.columns, [&](std::size_t c, std::size_t place) {
                const float z = kernels::to_float(product[c]) + bias[c] + residual[c];
                out[c] = z;
                sums.of[place] += z;
            });
            const float mean = sums.total() / width;
            PartialSums squares;
            along_row(rows.columns, [&](std::size_t c, std::size_t place) {
                const float less = out[c] - mean;
                squares.of[place] += less * less;
            });
            const float inverse = inverse_root(squares.total() / width + from.epsilon);
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < rows.columns; ++c) {
                const float y = normalised(out[c], mean, inverse) * gain[c] + shift[c];
                out[c] = y;
                shorten(y, short_out[c]);
            }
            to.mean[row] = mean;
            to.inverse[row] = inverse;
        }
    }
};

/// kLong, kShort: whether there is a gradient by the fp32 result, and by the short one.
template <class T, bool kLong, bool kShort>
struct NormGradientLoop {
    DEDLOC_LOOP void run(Rows rows, AddNorm of, AddNormGradient by, float* sums) {
        const auto width = static_cast<float>(rows.columns);
        float* const by_gain = sums;
        float* const by_shift = sums + rows.columns;
        float* const by_bias = sums + 2 * rows.columns;
        std::fill_n(sums, 3 * rows.columns, 0.0F);
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const std::size_t at = row * rows.columns;
            const T* const product = static_cast<const T*>(of.product) + at;
            const float* const residual = of.residual + at;
            const float* const by_long = kLong ? by.by_out + at : nullptr;
            const T* const by_short =
                kShort ? static_cast<const T*>(by.by_short_out) + at : nullptr;
            float* const by_residual = by.by_residual + at;  // holds the normal until it is known
            T* const by_product = static_cast<T*>(by.by_product) + at;
            const float mean = by.mean[row];
            const float inverse = by.inverse[row];
            const auto by_out = [&](std::size_t c) {
                float sum = 0;
                if constexpr (kLong) sum += by_long[c];
                if constexpr (kShort) sum += kernels::to_float(by_short[c]);
                return sum;
            };
            PartialSums all;
            PartialSums along_normal;
            along_row(rows.columns, [&](std::size_t c, std::size_t place) {
                const float z = kernels::to_float(product[c]) + of.bias[c] + residual[c];
                const float normal = normalised(z, mean, inverse);
                const float scaled = by_out(c) * of.gain[c];
                by_residual[c] = normal;
                all.of[place] += scaled;
                along_normal.of[place] += scaled * normal;
            });
            const float sum = all.total() / width;
            const float along = along_normal.total() / width;
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < rows.columns; ++c) {
                const float out = by_out(c);
                const float normal = by_residual[c];
                const float by_z = norm_slope(out, of.gain[c], normal, inverse, sum, along);
                by_gain[c] += out * normal;
                by_shift[c] += out;
                by_bias[c] += by_z;
                by_residual[c] = by_z;
                shorten(by_z, by_product[c]);
            }
        }
    }
};

template <class T>
struct GeluLoop {
    DEDLOC_LOOP void run(Rows rows, const T* product, const float* bias, T* out) {
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const std::size_t at = row * rows.columns;
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < rows.columns; ++c) {
                shorten(gelu(kernels::to_float(product[at + c]) + bias[c]), out[at + c]);
            }
        }
    }
};

template <class T>
struct GeluGradientLoop {
    DEDLOC_LOOP void run(Rows rows, const T* product, const float* bias, const T* by_out,
                         T* by_product, float* sums) {
        std::fill_n(sums, rows.columns, 0.0F);
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const std::size_t at = row * rows.columns;
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < rows.columns; ++c) {
                const float x = kernels::to_float(product[at + c]) + bias[c];
                const float by_x = kernels::to_float(by_out[at + c]) * gelu_slope(x);
                shorten(by_x, by_product[at + c]);
                sums[c] += by_x;
            }
        }
    }
};

template <class T>
struct ColumnSumsLoop {
    DEDLOC_LOOP void run(Rows rows, const T* values, float* sums) {
        std::fill_n(sums, rows.columns, 0.0F);
        for (std::size_t row = rows.first; row < rows.end; ++row) {
            const T* const of_row = values + row * rows.columns;
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < rows.columns; ++c) sums[c] += kernels::to_float(of_row[c]);
        }
    }
};

/// sums[c] = the sum of parts[task, c] over all tasks.
struct AddPartsLoop {
    DEDLOC_LOOP void run(const float* parts, std::size_t tasks, std::size_t columns, float* sums) {
        std::copy_n(parts, columns, sums);
        for (std::size_t task = 1; task < tasks; ++task) {
            const float* const part = parts + task * columns;
            DEDLOC_INDEPENDENT
            for (std::size_t c = 0; c < columns; ++c) sums[c] += part[c];
        }
    }
};

/// Calls call(T{}) with the type of a matrix's values.
template <class Call>
void with_values_of(const ShortMatrix& matrix, const Call& call) {
    if (matrix.is_bf16) {
        call(Bfloat16{});
    } else {
        call(Half{});
    }
}

/// Calls call(rows, number of the task) for all rows.
template <class Call>
void for_each_task(const kernels::Workers& workers, const ShortMatrix& matrix, const Call& call) {
    workers.run(task_count(matrix), [&](std::size_t task) {
        const std::size_t first = task * kTaskRows;
        call(Rows{.first = first,
                  .end = std::min(first + kTaskRows, matrix.rows),
                  .columns = matrix.columns},
             task);
    });
}

}  // namespace

std::size_t HostLayers::workspace_floats(const ShortMatrix& matrix, unsigned vectors) const {
    return task_count(matrix) * vectors * matrix.columns;
}

void HostLayers::add_norm(const ShortMatrix& matrix, const AddNorm& from, const AddNormResult& to) {
    with_values_of(matrix, [&]<class T>(T) {
        for_each_task(workers_, matrix, [&](const Rows& rows, std::size_t) {
            kernels::run_for<NormRowsLoop<T>>(workers_.instruction_set(), rows, from, to);
        });
    });
}

void HostLayers::add_norm_gradient(const ShortMatrix& matrix, const AddNorm& of,
                                   const AddNormGradient& gradient) {
    const auto set = workers_.instruction_set();
    const std::size_t width = 3 * matrix.columns;
    with_values_of(matrix, [&]<class T>(T) {
        for_each_task(workers_, matrix, [&](const Rows& rows, std::size_t task) {
            float* const sums = gradient.workspace + task * width;
            if (gradient.by_out == nullptr) {
                kernels::run_for<NormGradientLoop<T, false, true>>(set, rows, of, gradient, sums);
            } else if (gradient.by_short_out == nullptr) {
                kernels::run_for<NormGradientLoop<T, true, false>>(set, rows, of, gradient, sums);
            } else {
                kernels::run_for<NormGradientLoop<T, true, true>>(set, rows, of, gradient, sums);
            }
        });
    });
    kernels::run_for<AddPartsLoop>(set, static_cast<const float*>(gradient.workspace),
                                   task_count(matrix), width, gradient.by_vectors);
}

void HostLayers::bias_gelu(const ShortMatrix& matrix, const void* product, const float* bias,
                           void* out) {
    with_values_of(matrix, [&]<class T>(T) {
        for_each_task(workers_, matrix, [&](const Rows& rows, std::size_t) {
            kernels::run_for<GeluLoop<T>>(workers_.instruction_set(), rows,
                                          static_cast<const T*>(product), bias,
                                          static_cast<T*>(out));
        });
    });
}

void HostLayers::bias_gelu_gradient(const ShortMatrix& matrix, const void* product,
                                    const float* bias, const void* by_out, void* by_product,
                                    float* by_bias, float* workspace) {
    const auto set = workers_.instruction_set();
    with_values_of(matrix, [&]<class T>(T) {
        for_each_task(workers_, matrix, [&](const Rows& rows, std::size_t task) {
            kernels::run_for<GeluGradientLoop<T>>(
                set, rows, static_cast<const T*>(product), bias, static_cast<const T*>(by_out),
                static_cast<T*>(by_product), workspace + task * matrix.columns);
        });
    });
    kernels::run_for<AddPartsLoop>(set, static_cast<const float*>(workspace), task_count(matrix),
                                   matrix.columns, by_bias);
}

void HostLayers::column_sums(const ShortMatrix& matrix, const void* values, float* sums,
                             float* workspace) {
    const auto set = workers_.instruction_set();
    with_values_of(matrix, [&]<class T>(T) {
        for_each_task(workers_, matrix, [&](const Rows& rows, std::size_t task) {
            kernels::run_for<ColumnSumsLoop<T>>(set, rows, static_cast<const T*>(values),
                                                workspace + task * matrix.columns);
        });
    });
    kernels::run_for<AddPartsLoop>(set, static_cast<const float*>(workspace), task_count(matrix),
                                   matrix.columns, sums);
}

}  // namespace dedloc::training
