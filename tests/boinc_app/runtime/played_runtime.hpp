// A simulated volunteer's machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "boinc_app/runtime/volunteer_runtime.hpp"

namespace dedloc::test {

class PlayedRuntime final : public runtime::VolunteerRuntime {
  public:
    explicit PlayedRuntime(std::string name, std::optional<runtime::Account> account = std::nullopt,
                           const runtime::HostLimits& limits = {},
                           std::optional<unsigned> gpu = std::nullopt)
        : name_(std::move(name)), account_(std::move(account)), gpu_(gpu), limits_(limits) {}
    void suspend(bool is_suspended) { is_suspended_ = is_suspended; }
    void ask_to_quit() { must_quit_ = true; }
    void limit(const runtime::HostLimits& limits) {
        const std::lock_guard lock(mutex_);
        limits_ = limits;
    }
    std::uint64_t sent() const { return sent_; }
    std::uint64_t received() const { return received_; }

    runtime::HostWish wish() override {
        return {.is_suspended = is_suspended_, .must_quit = must_quit_, .is_aborted = false};
    }
    runtime::HostLimits limits() override {
        const std::lock_guard lock(mutex_);
        return limits_;
    }
    void report_traffic(Bytes sent, Bytes received) override {
        sent_ = sent.value();
        received_ = received.value();
    }
    std::chrono::seconds save_interval() const override { return save_interval_; }
    void save_every(std::chrono::seconds interval) { save_interval_ = interval; }
    std::filesystem::path resolve(const std::string& open_name) override {
        return upload_folder_.empty() ? std::filesystem::path{open_name}
                                      : upload_folder_ / open_name;
    }
    std::string result_name() const override { return name_; }
    std::optional<runtime::Account> account() const override { return account_; }
    unsigned granted_cpus() const override { return 1; }
    std::optional<unsigned> granted_gpu() const override { return gpu_; }
    std::filesystem::path shared_folder() const override { return {}; }
    std::chrono::seconds time_before() const override { return std::chrono::seconds{0}; }
    std::optional<runtime::AccountCredit> credit() const override { return std::nullopt; }
    void offer_page(const std::string&) override {}
    void report_progress(double) override {}
    void begin_writing() override {}
    void end_writing() override {}
    void state_is_saved() override {}
    void send_message(const std::string&, const std::string&) override {}
    /// The job declares output files, and they are in this folder. Before the seat begins.
    void take_uploads(const std::filesystem::path& folder) { upload_folder_ = folder; }
    bool may_upload(const std::string&) const override { return !upload_folder_.empty(); }
    void upload(const std::string&) override { ++uploads_; }
    bool is_uploaded(const std::string&) override { return uploads_ > 0; }
    int uploads() const { return uploads_; }
    [[noreturn]] void finish(int) override { std::abort(); }
    [[noreturn]] void quit() override { std::abort(); }
    [[noreturn]] void come_back_in(std::chrono::seconds, const std::string&) override {
        std::abort();
    }

  private:
    const std::string name_;
    const std::optional<runtime::Account> account_;
    const std::optional<unsigned> gpu_;
    std::mutex mutex_;
    runtime::HostLimits limits_;
    std::atomic<std::uint64_t> sent_ = 0;
    std::atomic<std::uint64_t> received_ = 0;
    std::atomic<std::chrono::seconds> save_interval_{std::chrono::hours{1}};
    std::atomic<bool> is_suspended_ = false;
    std::atomic<bool> must_quit_ = false;
    std::filesystem::path upload_folder_;
    std::atomic<int> uploads_ = 0;
};

}  // namespace dedloc::test
