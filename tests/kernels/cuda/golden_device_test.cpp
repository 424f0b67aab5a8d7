// Runs the hundred rounds of ../golden_round_test.cpp on a device: three peers accumulate gradients
// of every width, encode their sums with error feedback, decode the sums of the others and average
// them. Only norms leave the device between rounds, and the digests are those of the host.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <string>

#include "kernels/cuda/accumulate.hpp"
#include "kernels/cuda/dequantize.hpp"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/weighted_mean.hpp"
#include "kernels/digest.hpp"
#include "kernels/quantize.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::Bfloat16;
using kernels::Half;

namespace {

using Floats = std::vector<float>;
constexpr std::size_t kRounds = 100;
constexpr std::size_t kPeers = 3;
constexpr std::size_t kKinds = 4;

enum class Form { kHalf, kBfloat16, kInt8 };

struct Case {
    std::size_t count;
    Form form;
    bool is_all_zero;
    const char* golden;
};

const Case kCases[] {
    {0, Form::kHalf, false, "03af02f83d7d4a38d32adfeaa00ff644b112ee6e01df142792437fd952823da9"},
        {1, Form::kHalf, false, "a643e93b5fe85e21e2bd6ca6fb8cc82d0f9f720fdbb70d9828c88aaedadf96f4"},
        {1000, Form::kHalf, true,
         "a44fcd6bce84442ae69025365fc4d22b65fe95b6bfb0b76ebea8fcb56857cc2d"},
        {3, Form::kBfloat16, false,
         "d122301ac3c5726e5f0c926dd60715daaf4e324104018c59d08797ac605f075c"},
        {1, Form::kInt8, false, "1341628f4595f38d3ba000062e64952baa88a9f46573b0d3b8e76ec2c9c7fc07"},
        {3, Form::kInt8, false, "9ab4af90e88b0527babbfbdf3cf4ae772ea326e8721a23740f0e6bd3f7739a7c"},
        {65'537, Form::kInt8, false,
         "05048f6631c3ba36289861a499d20559fa24103115125e32ddf58bea183c305f"},
#if !defined(DEDLOC_DEVICE_IS_HOST)
        // Too slow when the host plays the device.
        {65'537, Form::kHalf, false,
         "812fa45f9f628d06e1b2f2a1d749b62440c55fc48cd42058b537dd638e2a7e6c"},
        {65'537, Form::kBfloat16, false,
         "85545e325b118070c2747978dfb1e2cf3e030ac9a3275b0f17a444cd739404f0"},
        {65'535, Form::kInt8, false,
         "1a24a64dc80169568b82c1f914c4fe0e6b5f16ca12463682119766baeeb02147"},
#endif
};

Floats gradient_of(const Case& test, std::size_t peer, std::size_t kind) {
    constexpr std::array kHuge{1e30, 1e5, 1e-3, 1e-3};
    if (test.is_all_zero || (kind == 3 && peer != 1)) return Floats(test.count);
    return adversarial(Random{test.count}.split(10 * peer + kind), test.count, kHuge[kind]);
}

/// The arrays of all peers on the device, and the encoded sums that they exchange.
class Swarm {
  public:
    Swarm(std::size_t count, Device& device)
        : device_(device),

          total_(Floats(count), device),
          mean_(Floats(count), device),
          half_(std::vector<Half>(count), device),
          bfloat_(std::vector<Bfloat16>(count), device),
          codes_(std::vector<std::int8_t>(count), device),
          exponents_(std::vector<std::uint8_t>(kernels::int8_block_count(count)), device),
          squares_(device),
          flag_(device),
          workspace_(kernels::cuda::accumulate_workspace_bytes(count), device) {
        for (std::size_t peer = 0; peer < kPeers; ++peer) {
            errors_.emplace_back(Floats(count), device);
            decoded_.emplace_back(Floats(count), device);
        }
    }

    template <class Element>
    double accumulate(const Array<float>& sum, DeviceSpan<const Element> gradient, float scale) {
        kernels::cuda::accumulate(sum, gradient, scale, squares_, flag_, workspace_,
                                  device_.stream());
        return squares_.value();
    }

    /// Adds a gradient to `sum` in every width; returns the norms.
    std::vector<double> contribute(const Array<float>& sum, const Array<float>& gradient) {
        constexpr float kScale = -0x1.99999ap-4f;
        kernels::cuda::quantize(gradient, half_.span(), flag_, device_.stream());
        kernels::cuda::quantize(gradient, bfloat_.span(), flag_, device_.stream());
        return {accumulate<float>(sum, gradient, 1.0f), accumulate<Half>(sum, half_, kScale),
                accumulate<Bfloat16>(sum, bfloat_, kScale)};
    }

    void send(std::size_t peer, const Array<float>& sum, Form form) {
        const Array<float>& error = errors_[peer];
        if (form == Form::kHalf) {
            send_short(sum, error, half_, decoded_[peer]);
        } else if (form == Form::kBfloat16) {
            send_short(sum, error, bfloat_, decoded_[peer]);
        } else {
            kernels::cuda::quantize_with_feedback(sum, error, {codes_, exponents_}, flag_,
                                                  device_.stream());
            kernels::cuda::dequantize({codes_, exponents_}, decoded_[peer], flag_,
                                      device_.stream());
        }
    }

    /// Averages the exchanged sums and adds the mean to the total.
    double finish_round() {
        const std::vector<DeviceSpan<const float>> parts(decoded_.begin(), decoded_.end());
        kernels::cuda::weighted_mean(parts, std::vector<std::uint64_t>{3, 0, 4}, mean_,
                                     device_.stream());
        return accumulate<float>(total_, mean_, 0x1p-7f);
    }

    std::string digest(const std::vector<double>& norms) const {
        Floats all = total_.values();
        for (const Array<float>& error : errors_) {
            const Floats values = error.values();
            all.insert(all.end(), values.begin(), values.end());
        }
        for (const double norm : norms) {
            const auto bits = std::bit_cast<std::uint64_t>(norm);
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32)));
        }
        CHECK(flag_.is_raised());
        return to_hex(kernels::tree_digest(std::as_bytes(std::span{all})));
    }

  private:
    template <class Short>
    void send_short(const Array<float>& sum, const Array<float>& error, const Array<Short>& sent,
                    const Array<float>& decoded) {
        kernels::cuda::quantize_with_feedback(sum, error, sent.span(), flag_, device_.stream());
        kernels::cuda::dequantize(DeviceSpan<const Short>{sent}, decoded, flag_, device_.stream());
    }

    Device& device_;
    Array<float> total_, mean_;
    Array<Half> half_;
    Array<Bfloat16> bfloat_;
    Array<std::int8_t> codes_;
    Array<std::uint8_t> exponents_;
    Scalar<double> squares_;
    Flag flag_;
    Workspace workspace_;
    std::vector<Array<float>> errors_, decoded_;
};

struct Contribution {
    Array<float> sum;
    std::vector<double> norms;
};

}  // namespace

TEST_CASE("a hundred rounds on a device give the golden bits", "[cuda]") {
    for (const Case& test : kCases) {
        INFO(test.count << " elements, form " << static_cast<int>(test.form));
        Device device;
        Swarm swarm{test.count, device};
        std::vector<std::vector<Contribution>> given(kPeers);
        for (std::size_t peer = 0; peer < kPeers; ++peer) {
            for (std::size_t kind = 0; kind < kKinds; ++kind) {
                Array<float> sum{Floats(test.count), device};
                const Array<float> gradient{gradient_of(test, peer, kind), device};
                std::vector<double> norms = swarm.contribute(sum, gradient);
                given[peer].push_back({std::move(sum), std::move(norms)});
            }
        }
        std::vector<double> norms;
        for (std::size_t round = 0; round < kRounds; ++round) {
            for (std::size_t peer = 0; peer < kPeers; ++peer) {
                const Contribution& own = given[peer][round % kKinds];
                norms.insert(norms.end(), own.norms.begin(), own.norms.end());
                swarm.send(peer, own.sum, test.form);
            }
            norms.push_back(swarm.finish_round());
        }
        CHECK(swarm.digest(norms) == test.golden);
    }
}
