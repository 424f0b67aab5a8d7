#include "project_server/project/nginx_conf.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "peer/formats/enrolment.hpp"
#include "peer/platform/process.hpp"
#include "project_server/transfer/upload_limits.hpp"

namespace dedloc::project {
namespace {

/// nginx.conf, with the fields that nginx_configuration() fills in. Its paths are relative to the
/// folder that nginx runs in, because the project's own may contain a $, which nginx takes as the
/// beginning of a variable in some directives and has no escape for.
constexpr char kConfiguration[] =
    R"(# Written by `dedloc project`, again at every start. To test it: cd into this folder, then
# /usr/sbin/nginx -t -p ./ -c nginx.conf
daemon off;
worker_processes 1;
pid "nginx.pid";
error_log "../log/nginx.log" warn;
events {{ worker_connections 16384; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    # Without arguments: those of the account requests are e-mail addresses and password hashes.
    log_format dedloc '$remote_addr [$time_local] "$request_method $uri $server_protocol" $status '
                      '$body_bytes_sent $request_time';
    access_log "../log/access.log" dedloc;
    # nginx writes a failed request with its arguments into the error log, and these may be an
    # account's key or the secret of a letter.
    error_log "../log/nginx.log" crit;
    client_body_temp_path "body";
    proxy_temp_path "proxy";
    fastcgi_temp_path "fastcgi";
    uwsgi_temp_path "uwsgi";
    scgi_temp_path "scgi";
    client_max_body_size 64k;
    client_body_buffer_size 64k;
    # One range in a request for a file, none in one for a page: many ranges would multiply it.
    max_ranges 1;
    proxy_http_version 1.1;
    # What slow readers of pages may leave on the disk; files are sent from where they are.
    proxy_max_temp_file_size 1m;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header If-Range "";
    proxy_set_header Range "";
    proxy_set_header X-Forwarded-For $remote_addr;
    # What one address and one slow client may take from the others. Status 503, because a BOINC
    # client does not try again after a 4xx.
    # A client is an IPv4 address, or an IPv6 network of 64 bits: in it a host may take any address.
    # The addresses are bytes, any of which may be a line feed.
    map $binary_remote_addr $client {{
        "~(?s)^(?<network>.{{8}}).{{8}}$" $network;
        default $binary_remote_addr;
    }}
    # The wide network of a client: 16 bits of an IPv4 address, 32 of an IPv6 address.
    map $binary_remote_addr $wide_network {{
        "~(?s)^(?<wide_v6>.{{4}}).{{12}}$" $wide_v6;
        "~(?s)^(?<wide_v4>.{{2}}).{{2}}$" $wide_v4;
    }}
    limit_conn_zone $client zone=connections:4m;
    limit_conn_zone $client zone=uploads_of_address:4m;
    limit_conn_zone $wide_network zone=uploads_of_network:4m;
    limit_conn connections 256;
    limit_conn_status 503;
    client_header_timeout 15s;
    client_body_timeout 60s;
    keepalive_timeout 15s;
    reset_timedout_connection on;
    sendfile on;
    tcp_nopush on;
    server_tokens off;
    limit_req_zone $client zone=enrolments:1m rate=2r/s;
    limit_req_zone $client zone=measurements:1m rate=10r/m;
    limit_req_zone $client zone=accounts:1m rate=1r/s;
    limit_req_zone $client zone=requests:4m rate=100r/s;
    limit_req_zone $client zone=scheduler:4m rate=20r/s;
    limit_req_status 429;
{proxies}{redirect}    server {{
{listen}{tls}        root "../html";
        # dedloc-server and dedloc-gateway refuse such bodies as well: to decompress 2 KB may take
        # gigabytes.
        if ($http_content_encoding) {{ return 415; }}
        location /download/ {{
            alias "../download/";
            types {{}}
        }}
        location ~ ^/stats/([a-z_]+\.gz|(tables|db_dump)\.xml)$ {{
            types {{
                application/gzip gz;
                text/xml xml;
            }}
            charset utf-8;
        }}
        location /chart.js/ {{
            alias /usr/share/javascript/chart.js/;
            expires 1d;
        }}
        location /bootstrap/ {{
            alias /usr/share/bootstrap-html/css/;
            expires 1d;
        }}
        location /static/ {{
            alias "../html/";
        }}
        # Not buffered: else the transfer would measure this machine's disk.
        location = /dedloc/bandwidth {{
            limit_req zone=measurements burst=40 nodelay;
            client_max_body_size {measured};
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_pass http://127.0.0.1:{gateway};
        }}
        location /dedloc/ {{
            limit_req zone=enrolments burst=50 nodelay;
            client_max_body_size 16k;
            proxy_pass http://127.0.0.1:{gateway};
        }}
        # Not buffered: what has arrived of an upload that is cut must reach the server, which goes
        # on from there. Each upload occupies a thread there: the server shares them among networks,
        # and nginx lets in no more of one than it can get.
        location = /file_upload_handler {{
            limit_conn uploads_of_address {uploads_of_address};
            limit_conn uploads_of_network {uploads_of_network};
            client_max_body_size {upload_bytes};
            proxy_request_buffering off;
            proxy_pass http://127.0.0.1:{server};
        }}
        location = /cgi/scheduler {{
            client_max_body_size 8m;
            limit_req zone=scheduler burst=200 nodelay;
            limit_req_status 503;
            proxy_pass http://127.0.0.1:{server};
        }}
        location ~ ^/({guarded})$ {{
            limit_req zone=accounts burst=60 nodelay;
            limit_req_status 503;
            proxy_pass http://127.0.0.1:{server};
        }}
        location / {{
            limit_req zone=requests burst=400 nodelay;
            limit_req_status 503;
            proxy_pass http://127.0.0.1:{server};
            proxy_read_timeout 60s;
        }}
    }}
}}
)";

/// Paths of requests that hash passwords, send e-mail or read many rows, as a regular expression.
constexpr const char* kGuarded =
    R"((create_account|lookup_account|team_lookup|team_email_list|am_[a-z_]+)\.php|)"
    "account/(create|sign_in|email|password|delete|forgotten|reset|send_confirmation)";

/// A path as one word. check_settings() has refused what cannot be quoted.
std::string quoted(const std::filesystem::path& path) {
    std::string word = "\"";
    for (const char c : path.string()) {
        if (c == '"' || c == '\\') word += '\\';
        word += c;
    }
    return word + '"';
}

/// A listen directive for each address.
std::string listeners(const std::vector<platform::ListenAddress>& addresses, const char* options) {
    std::string lines;
    for (const auto& address : addresses) {
        lines += fmt::format("        listen {}{};\n", address.text(), options);
    }
    return lines;
}

/// Believes what a proxy in front says about the client's address.
std::string trust(const std::vector<std::string>& proxies) {
    if (proxies.empty()) return {};
    std::string lines = "    real_ip_header X-Forwarded-For;\n    real_ip_recursive on;\n";
    for (const std::string& proxy : proxies) {
        lines += fmt::format("    set_real_ip_from {};\n", proxy);
    }
    return lines;
}

/// Plain HTTP: ACME challenges, and a redirection for everything else.
std::string redirection(const server::Settings& settings) {
    if (settings.redirect.empty()) return {};
    std::string acme;
    if (!settings.acme_webroot.empty()) {
        acme = fmt::format("        location /.well-known/acme-challenge/ {{ root {}; }}\n",
                           quoted(settings.acme_webroot));
    }
    return fmt::format(
        "    server {{\n{}{}        location / {{ return 301 {}$request_uri; }}\n    }}\n",
        listeners(settings.redirect, ""), acme, settings.url.substr(0, settings.url.size() - 1));
}

std::string tls(const server::Settings& settings) {
    std::string lines;
    if (settings.is_https()) {
        lines += "        add_header Strict-Transport-Security \"max-age=31536000\" always;\n";
    }
    if (settings.certificate.empty()) return lines;
    return lines + fmt::format(R"(        ssl_certificate {};
        ssl_certificate_key {};
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_prefer_server_ciphers off;
        ssl_session_cache shared:tls:4m;
        ssl_session_timeout 1d;
        ssl_session_tickets off;
)",
                               quoted(settings.certificate), quoted(settings.certificate_key));
}

}  // namespace

std::string nginx_configuration(const server::Settings& settings) {
    return fmt::format(
        kConfiguration,
        fmt::arg("listen", listeners(settings.listen, settings.certificate.empty() ? "" : " ssl")),
        fmt::arg("guarded", kGuarded), fmt::arg("tls", tls(settings)),
        fmt::arg("redirect", redirection(settings)), fmt::arg("proxies", trust(settings.proxies)),
        fmt::arg("server", settings.server_port), fmt::arg("gateway", settings.gateway_port),
        fmt::arg("upload_bytes", server::kMaxUploadBytes),
        fmt::arg("uploads_of_network", server::kMaxUploads / 2),
        fmt::arg("uploads_of_address", server::kMaxUploadsOfAddress),
        fmt::arg("measured", formats::kMaxMeasuredBytes));
}

std::filesystem::path nginx_folder(const std::filesystem::path& project) {
    return project / "nginx";
}

platform::Command nginx_command() {
    // Named by its path: Debian installs it in /usr/sbin, which is not in an ordinary user's PATH.
    platform::Command command{"/usr/sbin/nginx",  "-p", "./",        "-e",
                              "../log/nginx.log", "-c", "nginx.conf"};
    if (geteuid() == 0) command.insert(command.end(), {"-g", "user root;"});
    return command;
}

}  // namespace dedloc::project
