// A hundred consecutive rounds of all kernels except the optimizers: three peers add up gradients
// of every width, encode their sums with error feedback, decode the others' and average them.
// Linked, like golden_test.cpp, into one program per compiler and set of flags.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/encodings.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;

namespace {

using Floats = std::vector<float>;
constexpr std::size_t kRounds = 100;
constexpr std::size_t kPeers = 3;

using Form = tests::Encoding;

struct Case {
    std::size_t count;
    Form form;
    bool is_all_zero;
    const char* golden;  ///< tree digest of all averages' sum, errors and norms after 100 rounds
};

const Case kCases[]{
    {0, Form::kHalf, false, "03af02f83d7d4a38d32adfeaa00ff644b112ee6e01df142792437fd952823da9"},
    {1, Form::kHalf, false, "a643e93b5fe85e21e2bd6ca6fb8cc82d0f9f720fdbb70d9828c88aaedadf96f4"},
    {3, Form::kHalf, false, "7610aebe6a3eb1470e515cd04ad380f04e4d56c69e9c3c99618ef58aa3bf490e"},
    {65'535, Form::kHalf, false,
     "8958e3f282d2c02a365aecebdd2038e428eb3ad84fad9d37b2ecafa406700e39"},
    {65'537, Form::kHalf, false,
     "812fa45f9f628d06e1b2f2a1d749b62440c55fc48cd42058b537dd638e2a7e6c"},
    {1000, Form::kHalf, true, "a44fcd6bce84442ae69025365fc4d22b65fe95b6bfb0b76ebea8fcb56857cc2d"},
    {1, Form::kBfloat16, false, "5f3528aa34870af27002818a5f0ee191a6cea036b6ab7a89a1e2280d41d2c43f"},
    {3, Form::kBfloat16, false, "d122301ac3c5726e5f0c926dd60715daaf4e324104018c59d08797ac605f075c"},
    {65'535, Form::kBfloat16, false,
     "fe086c12639ce4ff47d17bb49f20576581d22b5f5894501eb85d3b7fd3f3a1a3"},
    {65'537, Form::kBfloat16, false,
     "85545e325b118070c2747978dfb1e2cf3e030ac9a3275b0f17a444cd739404f0"},
    {1000, Form::kBfloat16, true,
     "a44fcd6bce84442ae69025365fc4d22b65fe95b6bfb0b76ebea8fcb56857cc2d"},
    {1, Form::kInt8, false, "1341628f4595f38d3ba000062e64952baa88a9f46573b0d3b8e76ec2c9c7fc07"},
    {3, Form::kInt8, false, "9ab4af90e88b0527babbfbdf3cf4ae772ea326e8721a23740f0e6bd3f7739a7c"},
    {65'535, Form::kInt8, false,
     "1a24a64dc80169568b82c1f914c4fe0e6b5f16ca12463682119766baeeb02147"},
    {65'537, Form::kInt8, false,
     "05048f6631c3ba36289861a499d20559fa24103115125e32ddf58bea183c305f"},
    {1000, Form::kInt8, true, "a44fcd6bce84442ae69025365fc4d22b65fe95b6bfb0b76ebea8fcb56857cc2d"},
};

/// The state that is kept from round to round.
struct Swarm {
    std::vector<Floats> errors;
    Floats total;
    std::vector<double> norms;

    std::string digest() const {
        Floats all{total};
        for (const Floats& error : errors) all.insert(all.end(), error.begin(), error.end());
        for (const double norm : norms) {
            const auto bits = std::bit_cast<std::uint64_t>(norm);
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32)));
        }
        return to_hex(kernels::tree_digest(std::as_bytes(std::span{all})));
    }
};

/// The kernels, with some workers.
struct Fast {
    const kernels::Workers& workers;

    /// sum ← sum + scale × gradient, which has this width; kInt8 stands for fp32. Returns the sum
    /// of the terms' squares.
    double accumulate(Floats& sum, const Floats& gradient, Form width, float scale) const {
        Floats terms =
            width == Form::kInt8 ? gradient : tests::decoded(width, gradient, {}, workers);
        for (std::size_t i = 0; i < sum.size(); ++i) {
            terms[i] = tests::slow::multiplied(scale, terms[i]);
            sum[i] = tests::slow::added(sum[i], terms[i]);
        }
        return kernels::sum_of_squares(terms, workers);
    }

    Floats send(const Floats& values, Floats& error, Form form) const {
        Floats decoded = tests::decoded(form, values, error, workers);
        error = tests::kept_errors(form, values, error, workers);
        return decoded;
    }

    Floats mean(const std::vector<Floats>& parts) const {
        const std::vector<std::span<const float>> views(parts.begin(), parts.end());
        Floats out(parts.at(0).size());
        kernels::weighted_mean(views, std::vector<std::uint64_t>{3, 0, 4}, out, workers);
        return out;
    }
};

struct Slow {
    static float through(Form form, float x) {
        return static_cast<float>(form == Form::kHalf
                                      ? tests::slow::half_value(tests::slow::half_bits(x))
                                      : tests::slow::bfloat16_value(tests::slow::bfloat16_bits(x)));
    }

    double accumulate(Floats& sum, Floats gradient, Form width, float scale) const {
        if (width != Form::kInt8) {
            for (float& x : gradient) x = through(width, x);
        }
        return tests::slow::accumulate(sum, gradient, scale);
    }

    Floats send(const Floats& values, Floats& error, Form form) const {
        Floats x;
        for (std::size_t i = 0; i < values.size(); ++i) {
            x.push_back(tests::slow::added(values[i], error[i]));
        }
        Floats decoded = x;
        if (form == Form::kInt8) {
            decoded = tests::slow::from_int8(tests::slow::to_int8(x));
        } else {
            for (float& value : decoded) value = through(form, value);
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            error[i] = tests::slow::subtracted(x[i], decoded[i]);
        }
        return decoded;
    }

    Floats mean(const std::vector<Floats>& parts) const { return tests::slow::mean(parts, 7.0f); }
};

/// The gradients, [peer][kind]; each kind repeats every four rounds. Ordinary, denormal and huge
/// values, and all zero.
using Gradients = std::vector<std::vector<Floats>>;
constexpr std::array kHuge{1e30, 1e5, 1e-3, 1e-3};

/// What a round's input depends on: the cases of all forms share it.
using Shape = std::pair<std::size_t, bool>;
Shape shape_of(const Case& test) {
    return {test.count, test.is_all_zero};
}

/// Made once for each shape, because random numbers cost more than the kernels.
const Gradients& gradients_of(const Shape& shape) {
    static std::map<Shape, Gradients> made;
    const auto [entry, is_new] = made.try_emplace(shape);
    if (!is_new) return entry->second;
    const auto [count, is_all_zero] = shape;
    for (std::size_t peer = 0; peer < kPeers; ++peer) {
        std::vector<Floats>& own = entry->second.emplace_back();
        for (std::size_t kind = 0; kind < kHuge.size(); ++kind) {
            const bool is_zero = is_all_zero || (kind == 3 && peer != 1);
            own.push_back(is_zero ? Floats(count)
                                  : tests::adversarial(Random{count}.split(10 * peer + kind), count,
                                                       kHuge[kind]));
        }
    }
    return entry->second;
}

/// A peer's contribution of one kind: its gradient, added up in every width.
struct Contribution {
    Floats sum;
    std::vector<double> norms;
    bool operator==(const Contribution& other) const {
        return norms == other.norms && std::equal(sum.begin(), sum.end(), other.sum.begin(),
                                                  other.sum.end(), tests::same_bits);
    }
};
using Contributions = std::vector<std::vector<Contribution>>;  ///< [peer][kind]

template <class Kernels>
Contributions contributions_of(const Shape& shape, const Kernels& run) {
    Contributions all;
    for (const std::vector<Floats>& gradients : gradients_of(shape)) {
        std::vector<Contribution>& contributions = all.emplace_back();
        for (const Floats& gradient : gradients) {
            Contribution own{.sum = Floats(gradient.size()), .norms = {}};
            for (const Form width : {Form::kInt8, Form::kHalf, Form::kBfloat16}) {
                const float scale = width == Form::kInt8 ? 1.0f : -0x1.99999ap-4f;
                own.norms.push_back(run.accumulate(own.sum, gradient, width, scale));
            }
            contributions.push_back(std::move(own));
        }
    }
    return all;
}

/// The contributions of every shape among the cases.
template <class Kernels>
std::map<Shape, Contributions> all_contributions(const Kernels& run) {
    std::map<Shape, Contributions> all;
    for (const Case& test : kCases) {
        const auto [entry, is_new] = all.try_emplace(shape_of(test));
        if (is_new) entry->second = contributions_of(entry->first, run);
    }
    return all;
}

template <class KernelsAt>
std::string digest_after_all(const Case& test, const Contributions& given,
                             const KernelsAt& kernels_at) {
    Swarm swarm{.errors = std::vector<Floats>(kPeers, Floats(test.count)),
                .total = Floats(test.count),
                .norms = {}};
    for (std::size_t round = 0; round < kRounds; ++round) {
        const auto run = kernels_at(round);
        std::vector<Floats> parts;
        for (std::size_t peer = 0; peer < kPeers; ++peer) {
            const Contribution& own = given[peer][round % kHuge.size()];
            swarm.norms.insert(swarm.norms.end(), own.norms.begin(), own.norms.end());
            parts.push_back(run.send(own.sum, swarm.errors[peer], test.form));
        }
        const Floats mean = run.mean(parts);
        swarm.norms.push_back(run.accumulate(swarm.total, mean, Form::kInt8, 0x1p-7f));
    }
    return swarm.digest();
}

}  // namespace

TEST_CASE("a hundred rounds give the golden bits with every vector unit and thread", "[kernels]") {
    const tests::WidthsByTurns turns{2};
    const auto given = all_contributions(Fast{turns(0)});
    tests::with_every_worker({2}, [&](const kernels::Workers& workers) {
        INFO(name_of(workers.instruction_set()));
        CHECK(all_contributions(Fast{workers}) == given);
    });
    for (const Case& test : kCases) {
        INFO(test.count << " elements, form " << static_cast<int>(test.form));
        const Contributions& own = given.at(shape_of(test));
        CHECK(digest_after_all(test, own, [&](std::size_t round) { return Fast{turns(round)}; }) ==
              test.golden);
        if (test.count > tests::kLongChain) continue;
        tests::with_every_worker({2}, [&](const kernels::Workers& workers) {
            INFO(name_of(workers.instruction_set()));
            CHECK(digest_after_all(test, own, [&](std::size_t) { return Fast{workers}; }) ==
                  test.golden);
        });
    }
}

TEST_CASE("the golden bits of rounds are those of the slow reference", "[kernels][reference]") {
    const auto given = all_contributions(Slow{});
    for (const Case& test : kCases) {
        INFO(test.count << " elements, form " << static_cast<int>(test.form));
        CHECK(digest_after_all(test, given.at(shape_of(test)),
                               [](std::size_t) { return Slow{}; }) == test.golden);
    }
}
