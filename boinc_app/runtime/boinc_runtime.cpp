// BOINC's timer signal stays blocked except for a moment in each wish(), in which BOINC's handler
// measures the processor time. wish() only reports the client's requests; the seat acts on them. It
// also reads the job's settings again if the client has changed them, so limits, account and grants
// are answered from init_data_. The runtime of a terminal reports a flag that its signal handler
// sets. pthread_attr_setstacksize() is overridden for BOINC's timer thread, whose stack would be
// too small.
#include "boinc_app/runtime/boinc_runtime.hpp"

#include <api/boinc_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

namespace {

// The thread-local memory of all libraries is placed on each thread's stack. libtorch's share alone
// is larger than the stack that BOINC's API requests for its timer thread, and pthread_create would
// fail with EINVAL.
constexpr std::size_t kMinStackBytes = std::size_t{1} << 20;

}  // namespace

/// Overrides the C library's function of this name in the whole program, BOINC's API included.
extern "C" int pthread_attr_setstacksize(pthread_attr_t* attributes, std::size_t bytes) noexcept {
    using Function = int (*)(pthread_attr_t*, std::size_t);
    static const auto next =
        reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "pthread_attr_setstacksize"));
    return next(attributes, std::max(bytes, kMinStackBytes));
}

namespace dedloc::runtime {
namespace {

// Exit status that BOINC's client interprets as "aborted by the client".
constexpr int kAbortedByClient = 194;

/// `how` is SIG_BLOCK or SIG_UNBLOCK.
void set_alarms(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(how, &set, nullptr);
}

/// The proxy that is configured in the BOINC client, as a URL; empty: none. Hosts that are exempt
/// from the proxy come from the environment (no_proxy).
std::string proxy_of(const PROXY_INFO& info) {
    if (info.use_http_proxy) {
        return fmt::format("http://{}:{}", info.http_server_name, info.http_server_port);
    }
    if (info.use_socks_proxy) {
        return fmt::format("{}://{}:{}", info.socks5_remote_dns ? "socks5h" : "socks5",
                           info.socks_server_name, info.socks_server_port);
    }
    return {};
}

/// The CA bundle of the BOINC client if it has one, else the first system bundle that exists.
std::string certificates_in(const std::filesystem::path& boinc_folder) {
    for (const std::filesystem::path& file :
         {boinc_folder / "ca-bundle.crt",
          std::filesystem::path{"/etc/ssl/certs/ca-certificates.crt"},
          std::filesystem::path{"/etc/pki/tls/certs/ca-bundle.crt"}}) {
        std::error_code absent;
        if (std::filesystem::exists(file, absent)) return file.string();
    }
    return {};
}

/// The share of the time in which the app may compute; the preference is in percent.
double share_of(double percent) {
    return percent > 0 && percent < 100 ? std::max(percent / 100, 0.01) : 1;
}

/// 0 in the preferences: no limit.
std::optional<Bandwidth> bandwidth_of(double bytes_per_second) {
    constexpr double kHighest = 1e12;
    if (!(bytes_per_second > 0) || bytes_per_second > kHighest) return std::nullopt;
    return Bandwidth{static_cast<std::uint64_t>(std::max(bytes_per_second, 1.0))};
}

class BoincRuntime final : public VolunteerRuntime {
  public:
    BoincRuntime() {
        // Ten a second come, and would interrupt system calls.
        set_alarms(SIG_BLOCK);
        BOINC_OPTIONS options;
        boinc_options_defaults(options);
        options.direct_process_action = 0;
        if (const int code = boinc_init_options(&options); code != 0) {
            throw Error{fmt::format("BOINC's runtime could not start (error {})", code)};
        }
        boinc_get_init_data(init_data_);
    }

    HostWish wish() override {
        // Here one may come: BOINC's handler measures the processor time, without which the client
        // would report none, and keep the job in memory as one that has never saved its state.
        set_alarms(SIG_UNBLOCK);
        set_alarms(SIG_BLOCK);
        BOINC_STATUS status;
        boinc_get_status(&status);
        if (status.reread_init_data_file != 0) {
            boinc_status.reread_init_data_file = 0;
            boinc_parse_init_data_file();
            boinc_get_init_data(init_data_);
        }
        return {.is_suspended = status.suspended != 0 || status.network_suspended != 0,
                .must_quit = status.quit_request != 0 || status.no_heartbeat != 0,
                .is_aborted = status.abort_request != 0};
    }
    HostLimits limits() override {
        const GLOBAL_PREFS& preferences = init_data_.global_prefs;
        return {.computing = share_of(preferences.cpu_usage_limit),
                .upload = bandwidth_of(preferences.max_bytes_sec_up),
                .download = bandwidth_of(preferences.max_bytes_sec_down)};
    }
    void report_traffic(Bytes sent, Bytes received) override {
        boinc_network_usage(static_cast<double>(sent.value()),
                            static_cast<double>(received.value()));
    }
    std::chrono::seconds save_interval() const override {
        // Not boinc_time_to_checkpoint: state_is_saved() begins its interval anew, and comes with
        // each commit, since that is when the journal is on the disk.
        const double period = init_data_.checkpoint_period;
        constexpr double kDay = 86'400;
        const double wanted = period > 0 ? std::min(period, kDay) : DEFAULT_CHECKPOINT_PERIOD;
        return std::chrono::seconds{static_cast<long>(std::ceil(wanted))};
    }
    std::filesystem::path resolve(const std::string& open_name) override {
        std::string path;
        if (const int code = boinc_resolve_filename_s(open_name.c_str(), path); code != 0) {
            throw InputError{
                fmt::format("the job's file {} cannot be found (BOINC error {})", open_name, code)};
        }
        return path;
    }
    std::string result_name() const override { return init_data_.result_name; }
    std::optional<Account> account() const override {
        return Account{.authenticator = init_data_.authenticator,
                       .host = static_cast<std::uint64_t>(std::max(0, init_data_.hostid)),
                       .proxy = proxy_of(init_data_.proxy_info),
                       .certificates = certificates_in(init_data_.boinc_dir)};
    }
    unsigned granted_cpus() const override {
        return static_cast<unsigned>(std::max(1.0, std::floor(init_data_.ncpus)));
    }
    std::optional<unsigned> granted_gpu() const override {
        // The client's word for NVIDIA in gpu_type (lib/coproc.h).
        if (std::string_view{init_data_.gpu_type} != "NVIDIA") return std::nullopt;
        if (init_data_.gpu_device_num < 0) return std::nullopt;
        return static_cast<unsigned>(init_data_.gpu_device_num);
    }
    std::filesystem::path shared_folder() const override { return init_data_.project_dir; }
    std::chrono::seconds time_before() const override {
        constexpr double kYear = 365.0 * 86'400;
        return std::chrono::seconds{
            static_cast<long>(std::clamp(init_data_.starting_elapsed_time, 0.0, kYear))};
    }
    std::optional<AccountCredit> credit() const override {
        return AccountCredit{.account = init_data_.user_total_credit,
                             .host = init_data_.host_total_credit};
    }
    void offer_page(const std::string& url) override {
        std::string text = url;  // BOINC's function takes it as char*
        boinc_web_graphics_url(text.data());
    }
    void report_progress(double fraction_done) override { boinc_fraction_done(fraction_done); }
    void begin_writing() override { boinc_begin_critical_section(); }
    void end_writing() override { boinc_end_critical_section(); }
    void state_is_saved() override {
        boinc_begin_critical_section();  // which the next call ends
        boinc_checkpoint_completed();
    }
    void send_message(const std::string& variety, const std::string& text) override {
        std::string name = variety;  // BOINC's function takes both as char*
        std::string body = text;
        if (const int code = boinc_send_trickle_up(name.data(), body.data()); code != 0) {
            log_warning("a message to the project was not sent (BOINC error {})", code);
        }
    }

    bool may_upload(const std::string& open_name) const override {
        // The client makes this link for each output file that the job declares.
        std::error_code absent;
        return std::filesystem::exists(open_name, absent);
    }
    void upload(const std::string& open_name) override {
        std::string name = open_name;
        if (const int code = boinc_upload_file(name); code != 0) {
            log_warning("{} is not uploaded (BOINC error {})", open_name, code);
        }
    }
    bool is_uploaded(const std::string& open_name) override {
        std::string name = open_name;
        return boinc_upload_status(name) == 0;
    }

    [[noreturn]] void finish(int status) override {
        boinc_finish(status);
        std::abort();  // boinc_finish does not return
    }
    [[noreturn]] void quit() override {
        // Not boinc_finish: the client restarts a job that ends without the finish file.
        std::_Exit(wish().is_aborted ? kAbortedByClient : 0);
    }
    [[noreturn]] void come_back_in(std::chrono::seconds delay, const std::string& reason) override {
        boinc_temporary_exit(static_cast<int>(delay.count()), reason.c_str());
        std::abort();  // boinc_temporary_exit does not return
    }

  private:
    APP_INIT_DATA init_data_;
};

volatile std::sig_atomic_t quit_signals = 0;

void note_quit_signal(int) {
    quit_signals = 1;
}

class StandaloneRuntime final : public VolunteerRuntime {
  public:
    explicit StandaloneRuntime(unsigned threads)
        : threads_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())) {
        struct sigaction action {};
        action.sa_handler = note_quit_signal;
        sigaction(SIGINT, &action, nullptr);
        sigaction(SIGTERM, &action, nullptr);
    }

    HostWish wish() override {
        return {.is_suspended = false, .must_quit = quit_signals != 0, .is_aborted = false};
    }
    HostLimits limits() override { return {}; }
    void report_traffic(Bytes, Bytes) override {}
    std::chrono::seconds save_interval() const override { return std::chrono::minutes{1}; }
    std::filesystem::path resolve(const std::string& open_name) override { return open_name; }
    std::string result_name() const override { return {}; }
    std::optional<Account> account() const override { return std::nullopt; }
    unsigned granted_cpus() const override { return threads_; }
    std::optional<unsigned> granted_gpu() const override { return std::nullopt; }
    std::filesystem::path shared_folder() const override { return {}; }
    std::chrono::seconds time_before() const override { return std::chrono::seconds{0}; }
    std::optional<AccountCredit> credit() const override { return std::nullopt; }
    void offer_page(const std::string&) override {}
    void report_progress(double) override {}
    void begin_writing() override {}
    void end_writing() override {}
    void state_is_saved() override {}
    void send_message(const std::string&, const std::string&) override {}
    bool may_upload(const std::string&) const override { return false; }
    void upload(const std::string&) override {}
    bool is_uploaded(const std::string&) override { return false; }
    [[noreturn]] void finish(int status) override { std::exit(status); }
    [[noreturn]] void quit() override { std::exit(0); }
    [[noreturn]] void come_back_in(std::chrono::seconds, const std::string&) override {
        std::exit(1);
    }

  private:
    const unsigned threads_;
};

}  // namespace

std::unique_ptr<VolunteerRuntime> make_boinc_runtime() {
    return std::make_unique<BoincRuntime>();
}

std::unique_ptr<VolunteerRuntime> make_standalone_runtime(unsigned threads) {
    return std::make_unique<StandaloneRuntime>(threads);
}

bool is_in_boinc_slot() {
    return std::filesystem::exists(INIT_DATA_FILE);
}

}  // namespace dedloc::runtime
