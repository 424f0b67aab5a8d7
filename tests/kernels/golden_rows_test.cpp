// Scales rows of every length around a segment to length 1, with inputs of eight kinds. Linked,
// like golden_test.cpp, into one program per compiler and set of flags.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kernels/digest.hpp"
#include "kernels/unit_rows.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"
#include "tests/kernels/slow_reference.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace dedloc;

namespace {

using RowValues = std::vector<float>;
constexpr std::size_t kKinds = 8;

struct RowsCase {
    std::size_t rows, length;
    bool is_all_zero;
    const char* golden;  ///< tree digest of all rows of all kinds
};

const RowsCase kRowsCases[]{
    {1, 1, false, "789a1603edb154fad396c4db1ef20b38326e189942c2e5408b9fd8a1a38e99e5"},
    {3, 3, false, "573b1b1414dcb2cec92a1def290dd8867407b4c54f1abc18c7fbd5773649aa95"},
    {10, 100, true, "3dbdc74ece171be530a46fbdccd48f34405f5d9eb8b16087e855beea3d268526"},
    {30, 128, false, "1a48e638cf0eae8733a57aceb490bd3c75c4555ce555b89819857ba589cd1341"},
    {2, 65'535, false, "01460c50c435ca1efcd38ab5a704cd827aee9fb2e9bd54c2a68f6a46ab54606a"},
    {2, 65'537, false, "d3d9e80d09bd4c4cf729ec60e1a5d75b4425397d31cbcb7ea0c5d5c44e574b92"},
};

/// Rows of denormals, of ordinary elements and of the largest ones.
RowValues rows_of_kind(const RowsCase& test, std::size_t kind) {
    const std::size_t count = test.rows * test.length;
    if (test.is_all_zero) return RowValues(count);
    const double scales[kKinds]{1e37, 1e-44, 1, 1e-3, 1e12, 1e-38, 1e20, 0.3};
    const Random random = Random{test.length}.split(kind);
    return kind % 2 == 0 ? tests::adversarial(random, count, scales[kind])
                         : tests::ordinary(random, count, scales[kind]);
}

template <class Scale>
std::string digest_of_rows(const RowsCase& test, const Scale& scale) {
    RowValues all;
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
        RowValues values = rows_of_kind(test, kind);
        scale(values, kind);
        all.insert(all.end(), values.begin(), values.end());
    }
    return to_hex(kernels::tree_digest(std::as_bytes(std::span{all})));
}

template <class WorkerAt>
std::string digest_of_rows_by(const RowsCase& test, const WorkerAt& worker_at) {
    const kernels::SegmentTable table = tests::rows_of(test.rows * test.length, test.length);
    return digest_of_rows(test, [&](RowValues& values, std::size_t kind) {
        kernels::unit_rows(values, table, worker_at(kind));
    });
}

}  // namespace

TEST_CASE("rows of unit length have the golden bits with every vector unit and thread",
          "[kernels]") {
    for (const RowsCase& test : kRowsCases) {
        INFO(test.rows << " rows of " << test.length);
        tests::with_every_worker({1, 3}, [&](const kernels::Workers& workers) {
            INFO(name_of(workers.instruction_set()));
            CHECK(digest_of_rows_by(test, tests::Always{workers}) == test.golden);
        });
    }
}

TEST_CASE("the golden bits of rows are those of the slow reference", "[kernels][reference]") {
    for (const RowsCase& test : kRowsCases) {
        INFO(test.rows << " rows of " << test.length);
        const auto scale = [&](RowValues& values, std::size_t) {
            for (std::size_t row = 0; row < test.rows; ++row) {
                const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * test.length);
                RowValues one(begin, begin + static_cast<std::ptrdiff_t>(test.length));
                tests::slow::unit_row(one);
                std::copy(one.begin(), one.end(), begin);
            }
        };
        CHECK(digest_of_rows(test, scale) == test.golden);
    }
}

#if defined(__x86_64__)
TEST_CASE("rows have the golden bits in a thread that flushes denormals or rounds up",
          "[kernels]") {
    const unsigned before = _mm_getcsr();
    for (const unsigned mode : {0x8040u, 0x4000u}) {
        for (const RowsCase& test : kRowsCases) {
            const kernels::SegmentTable table =
                tests::rows_of(test.rows * test.length, test.length);
            const auto scale = [&](RowValues& values, std::size_t) {
                _mm_setcsr(before | mode);
                kernels::unit_rows(values, table, kernels::ThisThread{});
                const unsigned after = _mm_getcsr();
                _mm_setcsr(before);
                REQUIRE((after & mode) == mode);
            };
            CHECK(digest_of_rows(test, scale) == test.golden);
        }
    }
}
#endif
