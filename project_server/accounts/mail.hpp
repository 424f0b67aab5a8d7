// Sends the project's e-mail: through a relay by SMTP, or by the machine's sendmail program.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dedloc::server {

/// How a project sends e-mail (dedloc.json).
struct MailSettings {
    std::string from{};                   ///< the sender's address; empty: no e-mail is sent
    std::string sender_name{};            ///< shown beside the address
    std::string relay{};                  ///< smtp:// or smtps://HOST:PORT; empty: sendmail
    std::filesystem::path credentials{};  ///< file with NAME:PASSWORD for the relay; may be empty
    std::filesystem::path sendmail = "/usr/sbin/sendmail";  ///< the program
};

/// One message in plain text.
struct MailMessage {
    std::string to;       ///< one address
    std::string subject;  ///< one line
    std::string text;     ///< UTF-8; lines end with \n
};

/// The message as it is sent, with headers. Control characters in header fields become blanks.
std::string mail_text(const MailSettings& settings, const MailMessage& message, double now);

/// Sends one message, and waits until the relay or sendmail has taken it, 30 s at most. Errors:
/// IoError, InputError (an address that could be taken for an option or a header).
void deliver(const MailSettings& settings, const MailMessage& message);

/// Makes and sends messages on a thread of its own, so that no request waits for the relay, nor
/// tells by its time whether a message is sent. Those that wait are lost when the process ends.
class Mailer {
  public:
    explicit Mailer(MailSettings settings);
    /// Drops what waits.
    ~Mailer();
    Mailer(const Mailer&) = delete;
    Mailer& operator=(const Mailer&) = delete;

    /// Whether the project sends e-mail at all.
    bool is_on() const { return !settings_.from.empty(); }
    /// Makes a message, later and on another thread, and sends it if there is one. Dropped, which
    /// is logged, if 100 wait already or none are sent. Thread: any.
    using Make = std::function<std::optional<MailMessage>()>;
    void send(Make make);

  private:
    void run();

    const MailSettings settings_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Make> waiting_;  ///< guarded by mutex_
    bool stops_ = false;        ///< guarded by mutex_
    std::thread thread_;
};

}  // namespace dedloc::server
