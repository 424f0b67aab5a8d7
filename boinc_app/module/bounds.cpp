// The allocator and the fallback are libtorch's globals, so the pass that they ask is a variable of
// the thread. A block of memory begins with a head that says how much of the bound it takes;
// it is given back by whichever thread frees it. Backward passes on the processor run on the thread
// that asks for them, so they are bounded too.
#include "boinc_app/module/bounds.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/alloc_cpu.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "boinc_app/module/operation_count.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::module {
namespace {

/// A key that no tensor and no part of libtorch has; its fallback passes each call on.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;
/// Bytes before a block; its alignment is that of libtorch's allocator.
constexpr std::size_t kHeadBytes = 64;

thread_local BoundedPass* current_pass = nullptr;

/// Bytes of all blocks that were taken in a bounded pass. Tensors outlive the pass that made them.
std::atomic<std::uint64_t> counted_bytes{0};

void free_block(void* data) {
    if (data == nullptr) return;
    void* const head = static_cast<std::byte*>(data) - kHeadBytes;
    std::uint64_t counted = 0;
    std::memcpy(&counted, head, sizeof(counted));
    counted_bytes.fetch_sub(counted, std::memory_order_relaxed);
    c10::free_cpu(head);
}

/// libtorch's allocator with a head before each block.
class CountingAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        if (bytes == 0) return {nullptr, nullptr, &free_block, c10::Device(c10::DeviceType::CPU)};
        BoundedPass* const pass = BoundedPass::current();
        if (pass != nullptr) pass->check_bytes(bytes);
        void* const head = c10::alloc_cpu(bytes + kHeadBytes);
        const std::uint64_t counted = pass != nullptr ? bytes : 0;
        std::memcpy(head, &counted, sizeof(counted));
        counted_bytes.fetch_add(counted, std::memory_order_relaxed);
        void* const data = static_cast<std::byte*>(head) + kHeadBytes;
        return {data, data, &free_block, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_block; }
    void copy_data(void* target, const void* source, std::size_t bytes) const override {
        default_copy_data(target, source, bytes);
    }
};

void check_operands(BoundedPass& pass, const c10::OperatorHandle& called,
                    const std::vector<c10::IValue>& stack) {
    const std::size_t count = called.schema().arguments().size();
    for (std::size_t at = stack.size() - count; at < stack.size(); ++at) {
        const c10::IValue& operand = stack[at];
        if (operand.isTensor()) {
            const at::Tensor& tensor = operand.toTensor();
            if (tensor.defined()) pass.check_elements(tensor.numel());
        } else if (operand.isTensorList()) {
            for (const at::Tensor& tensor : operand.toTensorVector()) {
                if (tensor.defined()) pass.check_elements(tensor.numel());
            }
        }
    }
}

void check_call(const c10::OperatorHandle& called, c10::DispatchKeySet keys,
                std::vector<c10::IValue>* stack) {
    BoundedPass* const pass = BoundedPass::current();
    if (pass != nullptr) {
        pass->check();
        check_operands(*pass, called, *stack);
    }
    const bool counts = pass != nullptr && pass->counts_operations();
    if (counts) pass->add_operations(operations_of(called, *stack));
    called.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey),
                           stack);
}

}  // namespace

BoundedPass::BoundedPass(const Bounds& bounds, const IsInterrupted& is_interrupted)
    : bounds_(bounds),
      is_interrupted_(is_interrupted),
      bytes_before_(counted_bytes.load(std::memory_order_relaxed)) {
    DEDLOC_CHECK(current_pass == nullptr, "a thread has one bounded pass at a time");
    install_bounds();
    current_pass = this;
    c10::impl::tls_set_dispatch_key_included(kKey, true);
}

BoundedPass::~BoundedPass() {
    c10::impl::tls_set_dispatch_key_included(kKey, false);
    current_pass = nullptr;
}

BoundedPass* BoundedPass::current() {
    return current_pass;
}

void BoundedPass::end(Ending ending, std::string sentence) {
    // The first reason counts: what comes after it may be its consequence.
    if (ending_ == Ending::kNone) {
        ending_ = ending;
        sentence_ = std::move(sentence);
    }
    throw PassEnded{sentence_};
}

void BoundedPass::check() {
    if (ending_ != Ending::kNone) throw PassEnded{sentence_};
    if (is_interrupted_ && is_interrupted_()) {
        end(Ending::kInterrupted, "the micro-batch was interrupted");
    }
    if (++operators_ > bounds_.operators) {
        end(Ending::kTooLong,
            fmt::format("the module runs more than {} operators and rounds of loops for one "
                        "micro-batch",
                        bounds_.operators));
    }
}

void BoundedPass::check_elements(std::int64_t elements) {
    if (static_cast<std::uint64_t>(elements) <= bounds_.bytes) return;
    end(Ending::kTooLarge, fmt::format("the module reads a tensor of {} elements; {} are allowed",
                                       elements, bounds_.bytes));
}

void BoundedPass::check_bytes(std::uint64_t bytes) {
    const std::uint64_t taken = counted_bytes.load(std::memory_order_relaxed);
    if (bytes <= bounds_.bytes && taken <= bounds_.bytes - bytes) {
        // What was there before may be freed meanwhile.
        const std::uint64_t held = taken + bytes;
        if (held > bytes_before_) peak_bytes_ = std::max(peak_bytes_, held - bytes_before_);
        return;
    }
    end(Ending::kTooLarge,
        fmt::format("the module wants {} bytes more than the {} that it has; {} are allowed", bytes,
                    taken, bounds_.bytes));
}

void check_bounds() {
    if (current_pass != nullptr) current_pass->check();
}

void install_bounds() {
    // libtorch keeps a pointer to the allocator and the fallback until the process ends.
    static CountingAllocator allocator;
    static const c10::RegistrationHandleRAII fallback = [] {
        constexpr std::uint8_t kAbovePlain = 1;  // libtorch's own has 0
        c10::SetCPUAllocator(&allocator, kAbovePlain);
        return c10::Dispatcher::singleton().registerFallback(
            kKey, c10::KernelFunction::makeFromBoxedFunction<&check_call>(), "dedloc");
    }();
}

}  // namespace dedloc::training::module
