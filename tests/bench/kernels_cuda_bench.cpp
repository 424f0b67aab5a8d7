// Device kernels compared with a copy within the device. Each is first verified against the host's
// bits, then measured in turn with the copy, by events, with a cold second-level cache: a buffer
// larger than any such cache is written before every repeat. The median of all repeats counts.
// Prints `skipped` without a GPU; fails only if a kernel gives other bits.
//
// Optimizers update the tensors of ALBERT-large in one call.
//
//     kernels_cuda_bench [elements...]     default: ALBERT-large's 17,847,490, and 268,435,456,
//                                          which is 1 GiB a vector, halved until all vectors fit
//                                          into the device
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/accumulate.hpp"
#include "kernels/bfloat_lanes.hpp"
#include "kernels/cuda/accumulate.hpp"
#include "kernels/cuda/bfloat_lanes.hpp"
#include "kernels/cuda/dequantize.hpp"
#include "kernels/cuda/error.hpp"
#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/half_lanes.hpp"
#include "kernels/cuda/int8_lanes.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/memory.hpp"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/cuda/weighted_mean.hpp"
#include "kernels/dequantize.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/half_lanes.hpp"
#include "kernels/int8_lanes.hpp"
#include "kernels/lamb.hpp"
#include "kernels/lanes.hpp"
#include "kernels/quantize.hpp"
#include "kernels/sgd.hpp"
#include "kernels/thread_workers.hpp"
#include "kernels/weighted_mean.hpp"
#include "peer/base/random.hpp"
#include "tests/bench/albert_large.hpp"
#include "tests/bench/lamb_scalars.hpp"

namespace {

using namespace dedloc;
namespace cuda = kernels::cuda;
using cuda::DeviceBuffer;
using cuda::StreamView;

constexpr std::size_t kSenders = 8;
constexpr int kRepeats = 31;
/// Twice the largest second-level cache of current GPUs.
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;

/// Inputs and outputs of the kernels, on the host.
struct Host {
    explicit Host(std::size_t count)
        : table(bench::albert_large(count)),
          ratios(table.tensors().size()),
          rates(table.tensors().size()),
          out(count, 0.5f),
          m(count, 0.25f),
          v(count, 1e-4f),
          half(count),
          bfloat(count),
          codes(count),
          exponents(kernels::int8_block_count(count)) {
        Random random{count};
        for (std::size_t k = 0; k < kSenders; ++k) {
            parts.emplace_back(count);
            for (float& x : parts.back()) x = 1e-2f * static_cast<float>(random.uniform() - 0.5);
        }
        static_cast<void>(kernels::quantize(parts[0], half));
        static_cast<void>(kernels::quantize(parts[0], bfloat));
        static_cast<void>(kernels::quantize(parts[0], {codes, exponents}));
    }

    kernels::SegmentTable table;
    std::vector<double> ratios;
    std::vector<float> rates;
    std::vector<std::vector<float>> parts;
    std::vector<float> out, m, v;
    std::vector<kernels::Half> half;
    std::vector<kernels::Bfloat16> bfloat;
    std::vector<std::int8_t> codes;
    std::vector<std::uint8_t> exponents;
    double number = 0;  ///< a norm or sum
};

/// The same on the device: 53 bytes an element.
struct Device {
    Device(std::size_t size, StreamView on) : Device(size, bench::albert_large(size), on) {}
    Device(std::size_t size, const kernels::SegmentTable& table, StreamView on)
        : count(size),
          stream(on),
          segments(table.segments().size(), on),
          tensors(table.tensors().size(), on),
          end(table.end()),
          ratios(table.tensors().size(), on),
          rates(table.tensors().size(), on),
          out(size, on),
          m(size, on),
          v(size, on),
          half(size, on),
          bfloat(size, on),
          codes(size, on),
          exponents(kernels::int8_block_count(size), on),
          number(1, on),
          factor(1, on),
          flag(1, on),
          workspace(std::max({cuda::lamb_workspace_bytes(all_tensors()),
                              cuda::sgd_workspace_bytes(all_tensors()),
                              cuda::accumulate_workspace_bytes(size)}),
                    on) {
        for (std::size_t k = 0; k < kSenders; ++k) parts.emplace_back(size, on);
        cuda::raise_flag(flag, on);
        cuda::upload(table.segments(), segments.span(), on);
        cuda::upload(table.tensors(), tensors.span(), on);
        on.wait();
    }

    cuda::DeviceTable all_tensors() const {
        return {.segments = segments, .tensors = tensors, .end = end};
    }

    void take(const Host& host) {
        for (std::size_t k = 0; k < kSenders; ++k) send(host.parts[k], parts[k]);
        send(host.out, out);
        send(host.m, m);
        send(host.v, v);
        send(host.half, half);
        send(host.bfloat, bfloat);
        send(host.codes, codes);
        send(host.exponents, exponents);
        send(std::vector<float>{0.99f}, factor);
        stream.wait();
    }
    template <class T>
    void send(const std::vector<T>& from, const DeviceBuffer<T>& to) const {
        cuda::upload<T>(from, to, stream);
    }

    template <class T>
    bool equals(const std::vector<T>& host, const DeviceBuffer<T>& buffer) const {
        std::vector<T> here(host.size());
        cuda::download<T>(buffer, here, stream);
        stream.wait();
        return std::memcmp(here.data(), host.data(), here.size() * sizeof(T)) == 0;
    }
    bool equals(const Host& host) const {
        return equals(host.out, out) && equals(host.m, m) && equals(host.v, v) &&
               equals(host.half, half) && equals(host.bfloat, bfloat) &&
               equals(host.codes, codes) && equals(host.exponents, exponents) &&
               equals(host.ratios, ratios) && equals(host.rates, rates) &&
               equals(std::vector<double>{host.number}, number);
    }

    std::size_t count;
    StreamView stream;
    DeviceBuffer<kernels::TensorSegment> segments;
    DeviceBuffer<kernels::TensorSegments> tensors;
    std::uint64_t end;
    DeviceBuffer<double> ratios;
    DeviceBuffer<float> rates;
    std::vector<DeviceBuffer<float>> parts;
    DeviceBuffer<float> out, m, v;
    DeviceBuffer<kernels::Half> half;
    DeviceBuffer<kernels::Bfloat16> bfloat;
    DeviceBuffer<std::int8_t> codes;
    DeviceBuffer<std::uint8_t> exponents;
    DeviceBuffer<double> number;
    DeviceBuffer<float> factor;
    DeviceBuffer<std::uint32_t> flag;
    DeviceBuffer<std::byte> workspace;
};

struct Line {
    const char* name;
    double bytes_an_element;
    const char* goal;  ///< percent of the copy's byte rate
    std::function<void(const Device&)> enqueue;
    std::function<void(Host&)> on_host;  ///< the host kernel; stores a number if the kernel has one
};

Line lamb_line(const char* name, kernels::LambVariant variant) {
    const auto scalars = bench::lamb_scalars(variant);
    return {name, 40, "85",
            [scalars](const Device& d) {
                cuda::lamb({d.out, d.m, d.v, d.parts[3]}, d.all_tensors(), scalars, {}, d.ratios,
                           d.workspace, d.stream);
            },
            [scalars](Host& h) {
                kernels::lamb({h.out, h.m, h.v, h.parts[3]}, h.table, scalars, h.ratios);
            }};
}

std::vector<Line> summing_lines() {
    return {
        {"accumulate fp32", 12, "90",
         [](const Device& d) {
             cuda::accumulate(d.out, cuda::DeviceSpan<const float>{d.parts[1]}, 0.5f, d.number,
                              d.flag, d.workspace, d.stream);
         },
         [](Host& h) { h.number = kernels::accumulate(h.out, h.parts[1], 0.5f).sum_of_squares; }},
        {"accumulate fp16", 10, "90",
         [](const Device& d) {
             cuda::accumulate(d.out, cuda::DeviceSpan<const kernels::Half>{d.half}, 0.5f, d.number,
                              d.flag, d.workspace, d.stream);
         },
         [](Host& h) { h.number = kernels::accumulate(h.out, h.half, 0.5f).sum_of_squares; }},
        {"accumulate bf16", 10, "90",
         [](const Device& d) {
             cuda::accumulate(d.out, cuda::DeviceSpan<const kernels::Bfloat16>{d.bfloat}, 0.5f,
                              d.number, d.flag, d.workspace, d.stream);
         },
         [](Host& h) { h.number = kernels::accumulate(h.out, h.bfloat, 0.5f).sum_of_squares; }},
        {"weighted_mean K=8", 4 * (kSenders + 1), "90",
         [](const Device& d) {
             const std::vector<cuda::DeviceSpan<const float>> parts(d.parts.begin(), d.parts.end());
             cuda::weighted_mean(parts, std::vector<std::uint64_t>(kSenders, 3), d.out, d.stream);
         },
         [](Host& h) {
             const std::vector<std::span<const float>> parts(h.parts.begin(), h.parts.end());
             kernels::weighted_mean(parts, std::vector<std::uint64_t>(kSenders, 3), h.out);
         }},
        {"global_norm", 4, "90",
         [](const Device& d) { cuda::global_norm(d.parts[2], d.number, d.workspace, d.stream); },
         [](Host& h) { h.number = kernels::global_norm(h.parts[2]); }},
        {"clip", 8, "90", [](const Device& d) { cuda::clip(d.out, d.factor, d.stream); },
         [](Host& h) { kernels::clip(h.out, 0.99f); }},
        {"check_finite", 4, "90",
         [](const Device& d) { cuda::check_finite(d.parts[3], d.flag, d.stream); }, [](Host&) {}},
    };
}

std::vector<Line> codec_lines() {
    return {
        {"quantize fp16", 6, "90",
         [](const Device& d) { cuda::quantize(d.parts[4], d.half.span(), d.flag, d.stream); },
         [](Host& h) { static_cast<void>(kernels::quantize(h.parts[4], h.half)); }},
        {"quantize bf16", 6, "90",
         [](const Device& d) { cuda::quantize(d.parts[4], d.bfloat.span(), d.flag, d.stream); },
         [](Host& h) { static_cast<void>(kernels::quantize(h.parts[4], h.bfloat)); }},
        {"quantize int8", 5.016, "90",
         [](const Device& d) {
             cuda::quantize(d.parts[4], {d.codes, d.exponents}, d.flag, d.stream);
         },
         [](Host& h) {
             static_cast<void>(kernels::quantize(h.parts[4], {h.codes, h.exponents}));
         }},
        {"int8 with feedback", 13.016, "90",
         [](const Device& d) {
             cuda::quantize_with_feedback(d.parts[4], d.m, {d.codes, d.exponents}, d.flag,
                                          d.stream);
         },
         [](Host& h) {
             static_cast<void>(
                 kernels::quantize_with_feedback(h.parts[4], h.m, {h.codes, h.exponents}));
         }},
        {"dequantize fp16", 6, "90",
         [](const Device& d) {
             cuda::dequantize(cuda::DeviceSpan<const kernels::Half>{d.half}, d.out, d.flag,
                              d.stream);
         },
         [](Host& h) { static_cast<void>(kernels::dequantize(h.half, h.out)); }},
        {"dequantize bf16", 6, "90",
         [](const Device& d) {
             cuda::dequantize(cuda::DeviceSpan<const kernels::Bfloat16>{d.bfloat}, d.out, d.flag,
                              d.stream);
         },
         [](Host& h) { static_cast<void>(kernels::dequantize(h.bfloat, h.out)); }},
        {"dequantize int8", 5.016, "90",
         [](const Device& d) {
             cuda::dequantize({d.codes, d.exponents}, d.out, d.flag, d.stream);
         },
         [](Host& h) {
             static_cast<void>(kernels::dequantize({h.codes, h.exponents}, h.out));
         }},
    };
}

/// The round's codecs: contributions with a residual; of fp16 also rounding errors and an average.
std::vector<Line> round_lines() {
    constexpr float kScale = 0x1p12F;
    const auto set = kernels::widest_instruction_set();
    return {
        {"round: to halves", 10, "90",
         [](const Device& d) {
             cuda::shorten_to_halves({.values = d.parts[4], .scale = kScale, .owed = d.parts[5]},
                                     d.half, d.flag, d.stream);
         },
         [set](Host& h) {
             kernels::shorten_to_halves(
                 set, {.values = h.parts[4].data(), .scale = kScale, .owed = h.parts[5].data()},
                 h.half.data(), h.half.size());
         }},
        {"round: errors", 12, "90",
         [](const Device& d) { cuda::keep_half_errors(d.parts[4], kScale, d.m, d.flag, d.stream); },
         [set](Host& h) {
             kernels::keep_half_errors(set, h.parts[4].data(), kScale, h.m.data(), h.m.size());
         }},
        {"round: from halves", 6, "90",
         [](const Device& d) { cuda::widen_halves(d.half, kScale, d.out, d.flag, d.stream); },
         [set](Host& h) {
             kernels::widen_halves(set, h.half.data(), kScale, h.out.data(), h.out.size());
         }},
        {"round: to bfloats", 10, "90",
         [](const Device& d) {
             cuda::shorten_to_bfloats(d.parts[4], d.parts[5], d.bfloat, d.flag, d.stream);
         },
         [set](Host& h) {
             kernels::shorten_to_bfloats(set, h.parts[4].data(), h.parts[5].data(), h.bfloat.data(),
                                         h.bfloat.size());
         }},
        {"round: to int8", 9.016, "90",
         [](const Device& d) {
             cuda::shorten_to_int8({.values = d.parts[4], .owed = d.parts[5]},
                                   {d.codes, d.exponents}, d.flag, d.stream);
         },
         [set](Host& h) {
             kernels::shorten_to_int8(set, {.values = h.parts[4].data(), .owed = h.parts[5].data()},
                                      h.codes.data(), h.exponents.data(), h.codes.size());
         }},
    };
}

std::vector<Line> all_lines() {
    const kernels::SgdScalars sgd{
        .element = {.learning_rate = 1e-4f, .momentum = 0.9f, .weight_decay = 1e-6f},
        .trust = 0.001,
        .epsilon = 1e-8};
    std::vector<Line> lines = summing_lines();
    for (Line& line : codec_lines()) lines.push_back(std::move(line));
    for (Line& line : round_lines()) lines.push_back(std::move(line));
    lines.push_back(lamb_line("lamb A", kernels::LambVariant::kStepDebiased));
    lines.push_back(lamb_line("lamb B", kernels::LambVariant::kMomentsDebiased));
    lines.push_back({"sgd with LARC", 28, "85",
                     [sgd](const Device& d) {
                         cuda::sgd({d.out, d.m, d.parts[3]}, d.all_tensors(), sgd, {}, d.rates,
                                   d.workspace, d.stream);
                     },
                     [sgd](Host& h) {
                         kernels::sgd({h.out, h.m, h.parts[3]}, h.table, sgd, h.rates);
                     }});
    return lines;
}

/// Whether each kernel's results are those of the host kernel.
void verify(const std::vector<Line>& lines, StreamView stream) {
    Host host{1'000'003};
    Device device{1'000'003, stream};
    device.take(host);
    device.send(std::vector<double>{0}, device.number);
    device.send(host.ratios, device.ratios);
    device.send(host.rates, device.rates);
    for (const Line& line : lines) {
        line.enqueue(device);
        line.on_host(host);
        if (device.equals(host)) continue;
        std::fprintf(stderr, "kernels_cuda_bench: %s gives other bits than the host\n", line.name);
        std::exit(1);
    }
}

class Clock {
  public:
    explicit Clock(StreamView stream) : stream_(stream), flushed_(kFlushBytes, stream) {}

    /// The median of many runs with a cold cache, in milliseconds.
    template <class Enqueue>
    double median(const Enqueue& enqueue) const {
        std::vector<double> times;
        for (int i = 0; i < kRepeats; ++i) {
            cuda::clear_bytes(flushed_, stream_);
            begin_.record(stream_);
            enqueue();
            end_.record(stream_);
            end_.wait();
            times.push_back(double{end_.milliseconds_since(begin_)});
        }
        std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
        return times[kRepeats / 2];
    }

  private:
    StreamView stream_;
    DeviceBuffer<std::byte> flushed_;
    cuda::Event begin_, end_;
};

/// Plausible content: a million random elements, repeated.
void fill(const Device& device, std::size_t count, StreamView stream) {
    const Host sample{std::min<std::size_t>(count, 1'000'000)};
    for (std::size_t first = 0; first < count; first += sample.out.size()) {
        const std::size_t here = std::min(sample.out.size(), count - first);
        for (const auto& part : device.parts) {
            cuda::upload<float>(std::span{sample.parts[0]}.first(here),
                                part.span().subspan(first, here), stream);
        }
        cuda::upload<float>(std::span{sample.v}.first(here), device.v.span().subspan(first, here),
                            stream);
    }
    for (const auto* const filled : {&device.out, &device.m}) {
        cuda::copy_bytes(std::as_bytes(device.parts[0].span().addresses()),
                         std::as_writable_bytes(filled->span().addresses()), stream);
    }
    cuda::quantize(device.parts[0], device.half.span(), device.flag, stream);
    cuda::quantize(device.parts[0], device.bfloat.span(), device.flag, stream);
    cuda::quantize(device.parts[0], {device.codes, device.exponents}, device.flag, stream);
    stream.wait();
}

void measure(std::size_t count, const std::vector<Line>& lines, StreamView stream) {
    const Clock clock{stream};
    const Device device{count, stream};
    fill(device, count, stream);
    const auto copy = [&] {
        cuda::copy_bytes(std::as_bytes(device.parts[0].span().addresses()),
                         std::as_writable_bytes(device.parts[1].span().addresses()), stream);
    };
    std::printf("\n%zu elements, bits verified, cold cache, median of %d\n", count, kRepeats);
    std::printf("%-20s %7s %9s %8s %7s %6s\n", "kernel", "B/elem", "ms", "GB/s", "/copy", "goal");
    for (const Line& line : lines) {
        const double copied = 8 / clock.median(copy);
        const double time = clock.median([&] { line.enqueue(device); });
        const double rate = line.bytes_an_element / time;
        const double to_gigabytes = static_cast<double>(count) / 1e6;
        std::printf("%-20s %7.2f %9.4f %8.1f %6.0f%% %6s\n", line.name, line.bytes_an_element, time,
                    rate * to_gigabytes, 100 * rate / copied, line.goal);
    }
    const double time = clock.median(copy);
    std::printf("%-20s %7.2f %9.4f %8.1f\n", "copy in the device", 8.0, time,
                8 * static_cast<double>(count) / 1e6 / time);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::size_t> counts{bench::kAlbertLargeElements, std::size_t{1} << 28};
    if (argc > 1) counts.clear();
    for (int i = 1; i < argc; ++i) {
        char* end = nullptr;
        counts.push_back(std::strtoull(argv[i], &end, 10));
        if (*end != '\0' || counts.back() == 0 || counts.back() > kernels::kMaxElements) {
            std::fprintf(stderr, "usage: kernels_cuda_bench [elements...]\n");
            return 2;
        }
    }
    if (cuda::device_count() == 0) {
        std::puts("skipped: this machine has no GPU that CUDA can use");
        return 0;
    }
    try {
        const cuda::Stream stream;
        const auto lines = all_lines();
        verify(lines, stream);
        for (std::size_t count : counts) {
            for (bool fits = false; !fits; count = (count + 1) / 2) {
                try {
                    measure(count, lines, stream);
                    fits = true;
                } catch (const cuda::CudaOutOfMemory&) {
                    std::printf("\n%zu elements do not fit into this device\n", count);
                    if (count == 1) return 1;
                }
            }
        }
    } catch (const cuda::CudaError& error) {
        std::fprintf(stderr, "kernels_cuda_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
