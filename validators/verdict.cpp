#include "validators/verdict.hpp"

#include <fmt/format.h>

#include <map>

namespace dedloc::validation {
namespace {

template <class... Args>
Failure<Refusal> refuse(Fault fault, fmt::format_string<Args...> format, Args&&... args) {
    return Failure{
        Refusal{.fault = fault, .reason = fmt::format(format, std::forward<Args>(args)...)}};
}

}  // namespace

Result<formats::Receipt, Refusal> read_receipt(std::span<const std::byte> bytes, const Job& job) {
    auto decoded = formats::decode_receipt(bytes);
    if (!decoded) {
        return refuse(Fault::kUnreadable, "not a signed receipt: {}",
                      formats::describe(decoded.reason()));
    }
    formats::Receipt receipt = std::move(decoded).value();
    if (receipt.run != job.run) {
        return refuse(Fault::kOtherRun, "the receipt is for run {}, the job for {}",
                      receipt.run.brief(), job.run.brief());
    }
    if (receipt.result_name != job.result_name) {
        return refuse(Fault::kOtherResult,
                      "the receipt is for the result \"{}\", the job is \"{}\"",
                      receipt.result_name, job.result_name);
    }
    return receipt;
}

Result<Answer, Refusal> compare(const formats::Receipt& receipt, const LedgerView& ledger) {
    std::map<StepIndex, Samples> proven;
    for (const auto& line : ledger.lines) {
        if (line.peer == receipt.peer) proven[line.step] += line.samples;
    }
    auto answer = Answer::kValid;
    for (const auto& line : receipt.lines) {
        if (line.step >= ledger.last_step) {
            return refuse(Fault::kBeyondRun, "step {} is beyond the run's {} steps",
                          line.step.value(), ledger.last_step.value());
        }
        // Earns nothing, and a view of the ledger has no lines without samples.
        if (line.samples == Samples{0} || line.step < ledger.compacted) continue;
        const auto found = proven.find(line.step);
        if (found == proven.end()) {
            if (line.step >= ledger.recorded) {
                answer = Answer::kTooSoon;
                continue;
            }
            return refuse(Fault::kNotInLedger, "step {} of the ledger does not have peer {}",
                          line.step.value(), receipt.peer.brief());
        }
        if (found->second != line.samples) {
            return refuse(Fault::kOtherSamples, "step {}: {} samples claimed, {} in the ledger",
                          line.step.value(), line.samples.value(), found->second.value());
        }
    }
    return answer;
}

}  // namespace dedloc::validation
