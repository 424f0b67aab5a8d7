// The certificate as nginx and volunteers' clients see it. Read by OpenSSL, as nginx does.
#include "project_server/check/certificate.hpp"

#include <fmt/format.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/shell_word.hpp"
#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

constexpr int kDaysBefore = 14;  ///< certbot renews 30 days before the end
constexpr std::size_t kMaxPem = std::size_t{1} << 20;

struct Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(BIO* memory) const { BIO_free(memory); }
    void operator()(ASN1_TIME* time) const { ASN1_TIME_free(time); }
};

/// A reader of the text, which must outlive it.
std::unique_ptr<BIO, Free> memory_of(const std::string& pem) {
    return std::unique_ptr<BIO, Free>{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))};
}

/// An encrypted key is refused instead of asking for its password.
int no_password(char*, int, int, void*) {
    return 0;
}

/// A file that OpenSSL has read, or why it could not.
template <class Value>
struct Read {
    std::unique_ptr<Value, Free> value{};
    std::string fault{};
};

Read<X509> read_certificate(const std::string& file) {
    const std::string text = platform::read_text(file, kMaxPem);
    const auto pem = memory_of(text);
    Read<X509> read;
    read.value.reset(PEM_read_bio_X509(pem.get(), nullptr, no_password, nullptr));
    if (read.value) return read;
    const auto der = memory_of(text);
    const bool is_der = std::unique_ptr<X509, Free>{d2i_X509_bio(der.get(), nullptr)} != nullptr;
    read.fault = is_der ? fmt::format(
                              "{} is a certificate in DER, and nginx reads PEM: openssl "
                              "x509 -inform DER -in {} -out NEW_FILE",
                              file, platform::shell_word(file))
                        : fmt::format("{} is no certificate (PEM)", file);
    return read;
}

Read<EVP_PKEY> read_private_key(const std::string& file) {
    const std::string text = platform::read_text(file, kMaxPem);
    const auto pem = memory_of(text);
    Read<EVP_PKEY> read;
    read.value.reset(PEM_read_bio_PrivateKey(pem.get(), nullptr, no_password, nullptr));
    if (read.value) return read;
    const auto der = memory_of(text);
    const bool is_der =
        std::unique_ptr<EVP_PKEY, Free>{d2i_PrivateKey_bio(der.get(), nullptr)} != nullptr;
    read.fault = is_der ? fmt::format(
                              "{} is a key in DER, and nginx reads PEM: openssl pkey "
                              "-inform DER -in {} -out NEW_FILE",
                              file, platform::shell_word(file))
                        : fmt::format("{} is no private key without a password (PEM)", file);
    return read;
}

std::string mismatch(const X509& certificate, const EVP_PKEY& key, const std::string& file,
                     const std::string& key_file) {
    if (X509_check_private_key(&certificate, &key) == 1) return {};
    return fmt::format("{} is not the key of the certificate {}", key_file, file);
}

/// Days from `now`, UTC seconds, until the time; negative if it is past.
int days_until(const ASN1_TIME* time, double now) {
    const std::unique_ptr<ASN1_TIME, Free> from{
        ASN1_TIME_set(nullptr, static_cast<std::time_t>(now))};
    int days = 0;
    int seconds = 0;
    ASN1_TIME_diff(&days, &seconds, from.get(), time);
    return seconds < 0 ? days - 1 : days;
}

bool is_for(X509& certificate, const std::string& host) {
    return X509_check_host(&certificate, host.c_str(), host.size(), 0, nullptr) == 1 ||
           X509_check_ip_asc(&certificate, host.c_str(), 0) == 1;
}

}  // namespace

std::string certificate_fault(const std::filesystem::path& certificate,
                              const std::filesystem::path& key) {
    const auto read = read_certificate(certificate);
    if (!read.value) return read.fault;
    const auto own = read_private_key(key);
    if (!own.value) return own.fault;
    return mismatch(*read.value, *own.value, certificate, key);
}

void check_certificate(const Subject& subject, Findings& findings) {
    const server::Settings& settings = subject.settings;
    if (settings.certificate.empty()) {
        return findings.good(settings.is_https() ? "the proxy in front has the certificate"
                                                 : "the URL is plain http: no certificate");
    }
    const std::string file = settings.certificate.string();
    const std::string key_file = settings.certificate_key.string();
    const std::string renew = "renew it (certbot renew), or name another one in dedloc.json";
    const auto [certificate, fault] = read_certificate(file);
    if (!certificate) return findings.bad(fault, renew);
    const auto [key, key_fault] = read_private_key(key_file);
    if (!key) {
        findings.bad(key_fault, renew);
    } else if (const auto other = mismatch(*certificate, *key, file, key_file); !other.empty()) {
        findings.bad(other, renew);
    }
    if (!is_for(*certificate, settings.host())) {
        findings.bad(
            fmt::format("the certificate {} is not for the URL's host {}", file, settings.host()),
            renew);
    }
    if (days_until(X509_get0_notBefore(certificate.get()), subject.now) > 0) {
        findings.bad(fmt::format("the certificate {} is not valid yet", file),
                     "check this machine's clock");
    }
    const int days = days_until(X509_get0_notAfter(certificate.get()), subject.now);
    if (days < 0) {
        findings.bad(fmt::format("the certificate {} has expired", file), renew);
    } else if (days < kDaysBefore) {
        findings.warning(fmt::format("the certificate {} expires in {} days", file, days), renew);
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("the certificate is for {} and valid for {} days more",
                                  settings.host(), days));
    }
}

}  // namespace dedloc::check
