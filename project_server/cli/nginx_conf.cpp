#include "project_server/cli/nginx_conf.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "peer/formats/enrolment.hpp"
#include "peer/platform/process.hpp"

namespace dedloc::cli {
namespace {

/// nginx.conf: project folder, host, port, ports of server and gateway, bytes of a measurement.
constexpr char kConfiguration[] = R"(# Written by `dedloc project`, again at every start.
daemon off;
worker_processes 1;
pid "{0}/nginx/nginx.pid";
error_log "{0}/log/nginx.log" warn;
events {{ worker_connections 16384; }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    # Without arguments: those of the account requests are e-mail addresses and password hashes.
    log_format dedloc '$remote_addr [$time_local] "$request_method $uri $server_protocol" $status '
                      '$body_bytes_sent $request_time';
    access_log "{0}/log/access.log" dedloc;
    client_body_temp_path "{0}/nginx/body";
    proxy_temp_path "{0}/nginx/proxy";
    fastcgi_temp_path "{0}/nginx/fastcgi";
    uwsgi_temp_path "{0}/nginx/uwsgi";
    scgi_temp_path "{0}/nginx/scgi";
    client_max_body_size 64m;
    # What one address and one slow client may take from the others. Status 503, because a BOINC
    # client does not try again after a 4xx.
    limit_conn_zone $binary_remote_addr zone=connections:4m;
    limit_conn_zone $binary_remote_addr zone=uploads_of_address:4m;
    limit_conn_zone $server_name zone=uploads:1m;
    limit_conn connections 256;
    limit_conn_status 503;
    client_header_timeout 15s;
    client_body_timeout 60s;
    keepalive_timeout 15s;
    reset_timedout_connection on;
    sendfile on;
    tcp_nopush on;
    server_tokens off;
    limit_req_zone $binary_remote_addr zone=enrolments:1m rate=2r/s;
    limit_req_zone $binary_remote_addr zone=measurements:1m rate=10r/m;
    limit_req_status 429;
    server {{
        listen {1}:{2};
        root "{0}/html";
        location /download/ {{
            alias "{0}/download/";
            types {{}}
        }}
        location /chart.js/ {{
            alias /usr/share/javascript/chart.js/;
            expires 1d;
        }}
        location /static/ {{
            alias "{0}/html/";
        }}
        # Not buffered: else the transfer would measure this machine's disk.
        location = /dedloc/bandwidth {{
            limit_req zone=measurements burst=40 nodelay;
            client_max_body_size {5};
            client_body_buffer_size 64k;
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_http_version 1.1;
            proxy_pass http://127.0.0.1:{4};
            proxy_set_header X-Real-IP $remote_addr;
        }}
        location /dedloc/ {{
            limit_req zone=enrolments burst=50 nodelay;
            client_max_body_size 16k;
            proxy_pass http://127.0.0.1:{4};
            proxy_set_header X-Real-IP $remote_addr;
        }}
        # Not buffered: what has arrived of an upload that is cut must reach the server, which goes
        # on from there. A slow upload occupies one of the server's 16 threads.
        location = /file_upload_handler {{
            limit_conn uploads_of_address 4;
            limit_conn uploads 8;
            client_max_body_size 4g;
            proxy_request_buffering off;
            proxy_http_version 1.1;
            proxy_pass http://127.0.0.1:{3};
            proxy_set_header Host $http_host;
            proxy_set_header X-Real-IP $remote_addr;
        }}
        # nginx writes a failed request with its arguments into the error log.
        location ~ ^/(create_account|lookup_account|am_[a-z_]+)\.php$ {{
            error_log "{0}/log/nginx.log" crit;
            proxy_pass http://127.0.0.1:{3};
            proxy_set_header Host $http_host;
            proxy_set_header X-Real-IP $remote_addr;
        }}
        location / {{
            proxy_pass http://127.0.0.1:{3};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Real-IP $remote_addr;
            proxy_read_timeout 60s;
        }}
    }}
}}
)";

}  // namespace

std::string nginx_configuration(const std::filesystem::path& project,
                                const server::Settings& settings) {
    return fmt::format(kConfiguration, project.string(), settings.host, settings.port,
                       settings.server_port, settings.gateway_port, formats::kMaxMeasuredBytes);
}

platform::Command nginx_command(const std::filesystem::path& project) {
    // Named by its path: Debian installs it in /usr/sbin, which is not in an ordinary user's PATH.
    platform::Command command{"/usr/sbin/nginx",
                              "-p",
                              (project / "nginx").string(),
                              "-e",
                              (project / "log/nginx.log").string(),
                              "-c",
                              (project / "nginx/nginx.conf").string()};
    if (geteuid() == 0) command.insert(command.end(), {"-g", "user root;"});
    return command;
}

}  // namespace dedloc::cli
