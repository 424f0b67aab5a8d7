-- Database of a project: BOINC's tables, then DeDLOC@home's.
-- libsched reads "select *" rows by position and writes by name, so the columns of the BOINC tables
-- keep BOINC's names and order; columns of newer servers come last. Every statement is idempotent,
-- and ends at a line that ends with a semicolon.


create table if not exists platform (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    name                varchar(254) not null default '',
    user_friendly_name  varchar(254) not null default '',
    deprecated          tinyint not null default 0,
    unique key platform_name (name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists app (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    name                varchar(254) not null default '',
    min_version         integer not null default 0,
    deprecated          smallint not null default 0,
    user_friendly_name  varchar(254) not null default '',
    homogeneous_redundancy smallint not null default 0,
    weight              double not null default 1,
    beta                smallint not null default 0,
    target_nresults     smallint not null default 0,
    min_avg_pfc         double not null default 1,
    host_scale_check    tinyint not null default 0,
    homogeneous_app_version tinyint not null default 0,
    non_cpu_intensive   tinyint not null default 0,
    locality_scheduling integer not null default 0,
    n_size_classes      smallint not null default 0,
    fraction_done_exact tinyint not null default 0,
    unique key app_name (name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists app_version (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    appid               integer not null default 0,
    version_num         integer not null default 0,
    platformid          integer not null default 0,
    xml_doc             mediumblob,
    min_core_version    integer not null default 0,
    max_core_version    integer not null default 0,
    deprecated          tinyint not null default 0,
    plan_class          varchar(254) not null default '',
    pfc_n               double not null default 0,
    pfc_avg             double not null default 0,
    pfc_scale           double not null default 0,
    expavg_credit       double not null default 0,
    expavg_time         double not null default 0,
    beta                tinyint not null default 0,
    unique key app_version_what (appid, platformid, version_num, plan_class)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists user (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    email_addr          varchar(254) not null default '',
    name                varchar(254) not null default '',
    authenticator       varchar(254) not null default '',
    country             varchar(254) not null default '',
    postal_code         varchar(254) not null default '',
    total_credit        double not null default 0,
    expavg_credit       double not null default 0,
    expavg_time         double not null default 0,
    global_prefs        blob default '',
    project_prefs       blob default '',
    teamid              integer not null default 0,
    venue               varchar(254) not null default '',
    url                 varchar(254) not null default '',
    send_email          smallint not null default 0,
    show_hosts          smallint not null default 0,
    posts               smallint not null default 0,
    seti_id             integer not null default 0,
    seti_nresults       integer not null default 0,
    seti_last_result_time integer not null default 0,
    seti_total_cpu      double not null default 0,
    signature           varchar(254) not null default '',
    has_profile         smallint not null default 0,
    cross_project_id    varchar(254) not null default '',
    passwd_hash         varchar(254) not null default '',
    email_validated     smallint not null default 0,
    donated             smallint not null default 0,
    login_token         char(32) not null default '',
    login_token_time    double not null default 0,
    previous_email_addr varchar(254) not null default '',
    email_addr_change_time double not null default 0,
    unique key user_email (email_addr),
    unique key user_auth (authenticator),
    key user_name (name),
    key user_tot (total_credit desc),
    key user_avg (expavg_credit desc)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists user_deleted (
    userid              integer not null primary key,
    public_cross_project_id varchar(254) not null default '',
    create_time         double not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists team (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    userid              integer not null default 0,
    name                varchar(254) not null default '',
    name_lc             varchar(254) not null default '',
    url                 varchar(254) not null default '',
    type                integer not null default 0,
    name_html           varchar(254) not null default '',
    description         text default '',
    nusers              integer not null default 0,
    country             varchar(254) not null default '',
    total_credit        double not null default 0,
    expavg_credit       double not null default 0,
    expavg_time         double not null default 0,
    seti_id             integer not null default 0,
    ping_user           integer not null default 0,
    ping_time           integer unsigned not null default 0,
    joinable            tinyint not null default 1,
    mod_time            timestamp not null default current_timestamp on update current_timestamp,
    unique key team_name (name),
    key team_tot (total_credit desc)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists host (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    userid              integer not null default 0,
    rpc_seqno           integer not null default 0,
    rpc_time            integer not null default 0,
    total_credit        double not null default 0,
    expavg_credit       double not null default 0,
    expavg_time         double not null default 0,
    timezone            integer not null default 0,
    domain_name         varchar(254) not null default '',
    serialnum           varchar(254) not null default '',
    last_ip_addr        varchar(254) not null default '',
    nsame_ip_addr       integer not null default 0,
    on_frac             double not null default 0,
    connected_frac      double not null default 0,
    active_frac         double not null default 0,
    cpu_efficiency      double not null default 0,
    duration_correction_factor double not null default 0,
    p_ncpus             integer not null default 0,
    p_vendor            varchar(254) not null default '',
    p_model             varchar(254) not null default '',
    p_fpops             double not null default 0,
    p_iops              double not null default 0,
    p_membw             double not null default 0,
    os_name             varchar(254) not null default '',
    os_version          varchar(254) not null default '',
    m_nbytes            double not null default 0,
    m_cache             double not null default 0,
    m_swap              double not null default 0,
    d_total             double not null default 0,
    d_free              double not null default 0,
    d_boinc_used_total  double not null default 0,
    d_boinc_used_project double not null default 0,
    d_boinc_max         double not null default 0,
    n_bwup              double not null default 0,
    n_bwdown            double not null default 0,
    credit_per_cpu_sec  double not null default 0,
    venue               varchar(254) not null default '',
    nresults_today      integer not null default 0,
    avg_turnaround      double not null default 0,
    host_cpid           varchar(254) not null default '',
    external_ip_addr    varchar(254) not null default '',
    max_results_day     integer not null default 0,
    error_rate          double not null default 0,
    product_name        varchar(254) not null default '',
    gpu_active_frac     double not null default 0,
    p_ngpus             integer not null default 0,
    p_gpu_fpops         double not null default 0,
    misc                text not null default '',
    key host_userid_cpid (userid, host_cpid),
    key host_tot (total_credit desc),
    key host_avg (expavg_credit desc)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists host_deleted (
    hostid              integer not null primary key,
    public_cross_project_id varchar(254) not null default '',
    create_time         double not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists host_app_version (
    host_id             integer not null default 0,
    app_version_id      integer not null default 0,
    pfc_n               double not null default 0,
    pfc_avg             double not null default 0,
    et_n                double not null default 0,
    et_avg              double not null default 0,
    et_var              double not null default 0,
    et_q                double not null default 0,
    max_jobs_per_day    integer not null default 0,
    n_jobs_today        integer not null default 0,
    turnaround_n        double not null default 0,
    turnaround_avg      double not null default 0,
    turnaround_var      double not null default 0,
    turnaround_q        double not null default 0,
    consecutive_valid   integer not null default 0,
    unique key hap (host_id, app_version_id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists workunit (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    appid               integer not null default 0,
    name                varchar(254) not null default '',
    xml_doc             blob,
    batch               integer not null default 0,
    rsc_fpops_est       double not null default 0,
    rsc_fpops_bound     double not null default 0,
    rsc_memory_bound    double not null default 0,
    rsc_disk_bound      double not null default 0,
    need_validate       smallint not null default 0,
    canonical_resultid  integer not null default 0,
    canonical_credit    double not null default 0,
    transition_time     integer not null default 0,
    delay_bound         integer not null default 0,
    error_mask          integer not null default 0,
    file_delete_state   integer not null default 0,
    assimilate_state    integer not null default 0,
    hr_class            integer not null default 0,
    opaque              double not null default 0,
    min_quorum          integer not null default 0,
    target_nresults     integer not null default 0,
    max_error_results   integer not null default 0,
    max_total_results   integer not null default 0,
    max_success_results integer not null default 0,
    result_template_file varchar(63) not null default '',
    priority            integer not null default 0,
    mod_time            timestamp not null default current_timestamp on update current_timestamp,
    rsc_bandwidth_bound double not null default 0,
    fileset_id          integer not null default 0,
    app_version_id      integer not null default 0,
    transitioner_flags  tinyint not null default 0,
    size_class          smallint not null default -1,
    keywords            varchar(254) not null default '',
    app_version_num     integer not null default 0,
    unique key wu_name (name),
    key wu_val (appid, need_validate),
    key wu_timeout (transition_time),
    key wu_filedel (file_delete_state),
    key wu_assim (appid, assimilate_state)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- opaque is the run of a job. dedloc-work counts the open jobs of each run every two seconds.
create index if not exists dedloc_wu_run on workunit (appid, opaque, assimilate_state);

create table if not exists result (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    workunitid          integer not null default 0,
    server_state        integer not null default 0,
    outcome             integer not null default 0,
    client_state        integer not null default 0,
    hostid              integer not null default 0,
    userid              integer not null default 0,
    report_deadline     integer not null default 0,
    sent_time           integer not null default 0,
    received_time       integer not null default 0,
    name                varchar(254) not null default '',
    cpu_time            double not null default 0,
    xml_doc_in          blob default '',
    xml_doc_out         blob default '',
    stderr_out          blob default '',
    batch               integer not null default 0,
    file_delete_state   integer not null default 0,
    validate_state      integer not null default 0,
    claimed_credit      double not null default 0,
    granted_credit      double not null default 0,
    opaque              double not null default 0,
    random              integer not null default 0,
    app_version_num     integer not null default 0,
    appid               integer not null default 0,
    exit_status         integer not null default 0,
    teamid              integer not null default 0,
    priority            integer not null default 0,
    mod_time            timestamp not null default current_timestamp on update current_timestamp,
    elapsed_time        double not null default 0,
    flops_estimate      double not null default 0,
    app_version_id      integer not null default 0,
    runtime_outlier     tinyint not null default 0,
    size_class          smallint not null default -1,
    peak_working_set_size double not null default 0,
    peak_swap_size      double not null default 0,
    peak_disk_usage     double not null default 0,
    unique key res_name (name),
    key ind_res_st (server_state, priority),
    key res_wuid (workunitid),
    key res_hostid_id (hostid, id),
    key res_userid_id (userid, id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists assignment (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    target_id           integer not null default 0,
    target_type         integer not null default 0,
    multi               tinyint not null default 0,
    workunitid          integer not null default 0,
    resultid            integer not null default 0,
    key asgn_target (target_type, target_id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists batch (
    id                  serial primary key,
    user_id             integer not null default 0,
    create_time         integer not null default 0,
    logical_start_time  double not null default 0,
    logical_end_time    double not null default 0,
    est_completion_time double not null default 0,
    njobs               integer not null default 0,
    fraction_done       double not null default 0,
    nerror_jobs         integer not null default 0,
    state               integer not null default 0,
    completion_time     double not null default 0,
    credit_estimate     double not null default 0,
    credit_canonical    double not null default 0,
    credit_total        double not null default 0,
    name                varchar(255) not null default '',
    app_id              integer not null default 0,
    project_state       integer not null default 0,
    description         varchar(255) not null default '',
    expire_time         double not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists msg_from_host (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    hostid              integer not null default 0,
    variety             varchar(254) not null default '',
    handled             smallint not null default 0,
    xml                 mediumtext,
    key message_handled (handled)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists msg_to_host (
    id                  integer not null auto_increment primary key,
    create_time         integer not null default 0,
    hostid              integer not null default 0,
    variety             varchar(254) not null default '',
    handled             smallint not null default 0,
    xml                 mediumtext,
    key msg_to_host (hostid, handled)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists credited_job (
    userid              integer not null default 0,
    workunitid          bigint not null default 0,
    unique key credited_job_user_wu (userid, workunitid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists credit_user (
    userid              integer not null default 0,
    appid               integer not null default 0,
    njobs               integer not null default 0,
    total               double not null default 0,
    expavg              double not null default 0,
    expavg_time         double not null default 0,
    credit_type         integer not null default 0,
    primary key (userid, appid, credit_type)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists credit_team (
    teamid              integer not null default 0,
    appid               integer not null default 0,
    njobs               integer not null default 0,
    total               double not null default 0,
    expavg              double not null default 0,
    expavg_time         double not null default 0,
    credit_type         integer not null default 0,
    primary key (teamid, appid, credit_type)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists job_file (
    id                  integer not null auto_increment primary key,
    name                varchar(255) not null default '',
    create_time         double not null default 0,
    delete_time         double not null default 0,
    unique key jf_name (name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists user_submit (
    user_id             integer not null primary key,
    quota               double not null default 0,
    logical_start_time  double not null default 0,
    submit_all          tinyint not null default 0,
    manage_all          tinyint not null default 0,
    max_jobs_in_progress integer not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists user_submit_app (
    user_id             integer not null default 0,
    app_id              integer not null default 0,
    manage              tinyint not null default 0,
    primary key (user_id, app_id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists badge (
    id                  serial primary key,
    create_time         double not null default 0,
    type                tinyint not null default 0,
    name                varchar(255) not null default '',
    title               varchar(255) not null default '',
    description         varchar(255) not null default '',
    image_url           varchar(255) not null default '',
    level               varchar(255) not null default '',
    tags                varchar(255) not null default '',
    sql_rule            varchar(255) not null default ''
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists badge_user (
    badge_id            integer not null default 0,
    user_id             integer not null default 0,
    create_time         double not null default 0,
    reassign_time       double not null default 0,
    primary key (user_id, badge_id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists badge_team (
    badge_id            integer not null default 0,
    team_id             integer not null default 0,
    create_time         double not null default 0,
    reassign_time       double not null default 0,
    primary key (team_id, badge_id)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists consent_type (
    id                  integer not null auto_increment primary key,
    shortname           varchar(255) not null default '',
    description         varchar(255) not null default '',
    enabled             integer not null default 0,
    project_specific    integer not null default 0,
    privacypref         integer not null default 0,
    unique key consent_shortname (shortname)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists consent (
    id                  integer not null auto_increment primary key,
    userid              integer not null default 0,
    consent_type_id     integer not null default 0,
    consent_time        integer not null default 0,
    consent_flag        tinyint not null default 0,
    consent_not_required tinyint not null default 0,
    source              varchar(255) not null default '',
    key consent_user (userid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists token (
    token               varchar(64) not null primary key,
    userid              integer not null default 0,
    type                char(1) not null default '',
    create_time         integer not null default 0,
    expire_time         integer not null default 0,
    key token_userid (userid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- DeDLOC@home's tables. dedloc_run.state: running, paused, finished. evaluate_every: steps between
-- two evaluations, 0: none. architecture: that of the run file, which names the run's figures.
create table if not exists dedloc_run (
    id                  integer not null auto_increment primary key,
    name                varchar(64) not null,
    run_id              char(64) not null,
    state               varchar(16) not null default 'running',
    spec                mediumtext not null,
    target_batch        bigint not null,
    steps               bigint not null,
    flops_per_sample    double not null,
    credit_per_sample   double not null,
    final_digest        char(64) not null default '',
    created             double not null,
    evaluate_every      bigint not null default 0,
    evaluate_samples    bigint not null default 1024,
    architecture        varchar(64) not null default 'albert',
    unique key dedloc_run_name (name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
alter table dedloc_run
    add column if not exists evaluate_every bigint not null default 0,
    add column if not exists evaluate_samples bigint not null default 1024,
    add column if not exists architecture varchar(64) not null default 'albert';

-- One row for each update. step: number of updates done. digest: that of the state after it.
-- equal_digests: how many of the members reported exactly this digest.
create table if not exists dedloc_step (
    runid               integer not null,
    step                bigint not null,
    samples             bigint not null,
    loss                double not null,
    learning_rate       double not null,
    members             integer not null,
    equal_digests       integer not null,
    digest              char(64) not null,
    seconds             double not null,
    committed_at        double not null,
    primary key (runid, step)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- The contributions in the ledger, by key and step. credit_state: 0 pending, 1 credited to resultid,
-- 2 withheld, 3 without an owner. committed_at: UTC seconds by the backbone's clock.
create table if not exists dedloc_contribution (
    runid               integer not null,
    step                bigint not null,
    peer_key            char(64) not null,
    samples             bigint not null,
    loss_sum            double not null,
    resultid            bigint not null default 0,
    credit              double not null default 0,
    committed_at        double not null default 0,
    credit_state        tinyint not null default 0,
    primary key (runid, step, peer_key),
    key dedloc_contribution_key (runid, peer_key, resultid),
    key dedloc_contribution_result (resultid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Present and former members of the swarm. state: joining, working, left, lost.
create table if not exists dedloc_seat (
    runid               integer not null,
    peer_key            char(64) not null,
    result_name         varchar(254) not null default '',
    role                varchar(16) not null default '',
    address             varchar(64) not null default '',
    state               varchar(16) not null default '',
    step                bigint not null default 0,
    samples_per_second  double not null default 0,
    digest              char(64) not null default '',
    first_seen          double not null default 0,
    last_seen           double not null default 0,
    primary key (runid, peer_key),
    key dedloc_seat_result (result_name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- The last ticket that the gateway has issued to each key; times in UTC seconds. A key belongs to
-- one result. sent: when the result was sent.
create table if not exists dedloc_ticket (
    runid               integer not null,
    peer_key            char(64) not null,
    resultid            bigint not null,
    userid              bigint not null default 0,
    hostid              bigint not null default 0,
    sent                bigint not null default 0,
    issued              bigint not null,
    expires             bigint not null,
    primary key (runid, peer_key),
    key dedloc_ticket_result (resultid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Revoked tickets. kind: user, host (subject: id of BOINC's row), key, voter, replaced, ended
-- (subject: a peer's key in hex). since: UTC seconds.
create table if not exists dedloc_revocation (
    kind                varchar(8) not null,
    subject             varchar(64) not null,
    since               bigint not null,
    primary key (kind, subject),
    key dedloc_revocation_since (since)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

create table if not exists dedloc_checkpoint (
    runid               integer not null,
    step                bigint not null,
    digest              char(64) not null,
    path                varchar(1024) not null,
    bytes               bigint not null,
    created_at          double not null,
    primary key (runid, step)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- States that the project has measured on held-out data. step: number of updates done. A row is
-- void unless its step is 0 or dedloc_step has its digest at its step.
create table if not exists dedloc_evaluation (
    runid               integer not null,
    step                bigint not null,
    loss                double not null,
    loss_error          double not null,
    samples             bigint not null,
    seconds             double not null,
    digest              char(64) not null,
    evaluated_at        double not null,
    primary key (runid, step)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- The figures of a state beside its loss; peer/formats/figures.cpp has the names and units of each
-- architecture. error: standard error, null: not known. Rows of earlier versions come from columns
-- of dedloc_evaluation (move_former_figures).
create table if not exists dedloc_figure (
    runid               integer not null,
    step                bigint not null,
    name                varchar(64) not null,
    value               double not null,
    error               double,
    primary key (runid, step, name)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Masked sentences that a measured state has answered: one row for each of its best words. sentence:
-- its number; choice: 1 is the most probable word. before_mask, after_mask: the text around the
-- word; wanted: the word that was there, empty if that is not known.
create table if not exists dedloc_answer (
    runid               integer not null,
    step                bigint not null,
    sentence            smallint not null,
    choice              smallint not null,
    before_mask         varchar(1000) not null,
    after_mask          varchar(1000) not null,
    wanted              varchar(100) not null,
    word                varchar(100) not null,
    probability         double not null,
    primary key (runid, step, sentence, choice)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Bytes of GPU memory that a job of the run needs; dedloc-work computes them from the model.
alter table dedloc_run add column if not exists gpu_memory double not null default 0;
-- The scheduler counts the jobs in progress of a host at each request for work.
create index if not exists dedloc_result_host on result (hostid, server_state);

-- News on the web page; created: UTC seconds.
create table if not exists dedloc_news (
    id                  integer not null auto_increment primary key,
    created             double not null,
    title               varchar(120) not null,
    body                text not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Badges for credit. target: user, team. measure: total (credit of at least the threshold),
-- percentile (among the best that many percent by recent credit; only the best such badge counts).
-- A rule that is deleted comes back at the next start; a threshold of 0 percent or of 1e300 credits
-- turns it off.
create table if not exists dedloc_badge_rule (
    name                varchar(64) not null primary key,
    title               varchar(120) not null,
    target              varchar(8) not null,
    measure             varchar(16) not null,
    threshold           double not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
insert ignore into dedloc_badge_rule (name, title, target, measure, threshold) values
    ('user_top_1', 'Top 1 % by recent credit', 'user', 'percentile', 1),
    ('user_top_5', 'Top 5 % by recent credit', 'user', 'percentile', 5),
    ('user_top_25', 'Top 25 % by recent credit', 'user', 'percentile', 25),
    ('user_10k', '10,000 credits', 'user', 'total', 1e4),
    ('user_1m', '1 million credits', 'user', 'total', 1e6),
    ('user_100m', '100 million credits', 'user', 'total', 1e8),
    ('team_top_1', 'Top 1 % of teams by recent credit', 'team', 'percentile', 1),
    ('team_top_5', 'Top 5 % of teams by recent credit', 'team', 'percentile', 5),
    ('team_top_25', 'Top 25 % of teams by recent credit', 'team', 'percentile', 25),
    ('team_1m', 'Team with 1 million credits', 'team', 'total', 1e6),
    ('team_100m', 'Team with 100 million credits', 'team', 'total', 1e8);

-- Members of a team; expired sessions; teams by recent credit; what the status page counts.
create index if not exists dedloc_user_team on user (teamid, total_credit);
create index if not exists dedloc_user_created on user (create_time);
create index if not exists dedloc_host_created on host (create_time);
create index if not exists dedloc_team_avg on team (expavg_credit desc);
create index if not exists dedloc_token_expiry on token (type, expire_time);
create index if not exists dedloc_result_filedel on result (file_delete_state);
create index if not exists dedloc_result_received on result (appid, server_state, received_time);
-- dedloc_result_received begins with the same columns, and each scheduler request changes them.
alter table result drop key if exists res_app_state;
-- dedloc-credit pays contributions by this index.
alter table dedloc_contribution
    add column if not exists committed_at double not null default 0,
    add column if not exists credit_state tinyint not null default 0,
    add index if not exists dedloc_contribution_pending (credit_state, runid, peer_key, step);
update dedloc_contribution set credit_state = 1 where credit_state = 0 and resultid <> 0;
alter table dedloc_ticket
    add column if not exists userid bigint not null default 0,
    add column if not exists hostid bigint not null default 0,
    add column if not exists sent bigint not null default 0;

-- Why contributions of a key are withheld: the revocation (kind, subject, since) that holds for
-- them. noted: UTC seconds of the first one.
create table if not exists dedloc_withheld (
    runid               integer not null,
    peer_key            char(64) not null,
    kind                varchar(8) not null,
    subject             varchar(64) not null,
    since               bigint not null,
    contributions       bigint not null,
    samples             bigint not null,
    noted               bigint not null,
    primary key (runid, peer_key, kind, subject)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- dedloc-purge deletes what is old by these indices. dedloc_run.jobs: jobs made so far, also those
-- that have been deleted.
create index if not exists dedloc_wu_closed
    on workunit (appid, assimilate_state, file_delete_state, mod_time);
create index if not exists dedloc_message_age on msg_from_host (handled, create_time);
create index if not exists dedloc_message_age on msg_to_host (handled, create_time);
create index if not exists dedloc_message_variety on msg_from_host (variety, handled);
create index if not exists dedloc_ticket_age on dedloc_ticket (runid, expires);
create index if not exists dedloc_seat_age on dedloc_seat (last_seen);
alter table dedloc_run add column if not exists jobs bigint not null default 0;

-- Why the administrator has banned it; the volunteer reads this.
alter table dedloc_revocation add column if not exists reason varchar(200) not null default '';

-- Evidence against volunteers, for the administrator; nothing acts on it. One row for each source
-- (swarm: what the run's backbone noted; receipt: refused by dedloc-validator; ticket: refused by
-- dedloc-gateway), seat and kind of fault; the other columns are of the last time. step: number of
-- updates done. evidence: a file below the project's folder; empty: none. Times in UTC seconds.
create table if not exists dedloc_suspicion (
    id                  bigint not null auto_increment primary key,
    source              varchar(16) not null,
    runid               integer not null default 0,
    userid              bigint not null default 0,
    hostid              bigint not null default 0,
    peer_key            char(64) not null default '',
    what                varchar(120) not null,
    detail              varchar(600) not null default '',
    step                bigint not null default 0,
    evidence            varchar(254) not null default '',
    times               bigint not null default 1,
    first_seen          bigint not null,
    last_seen           bigint not null,
    unique key dedloc_suspicion_same (source, runid, userid, hostid, peer_key, what),
    key dedloc_suspicion_user (userid, last_seen),
    key dedloc_suspicion_run (runid, last_seen)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Contributions that dedloc-purge has compacted, by the day (UTC, since 1970) of their commits.
-- userid and hostid are 0 where the owner is not known any more. samples: credited ones; unowned:
-- samples of keys without an owner. dedloc_run.compacted: the recorder inserts no contribution up
-- to this step any more.
create table if not exists dedloc_daily_credit (
    runid               integer not null,
    userid              bigint not null,
    hostid              bigint not null,
    day                 integer not null,
    contributions       bigint not null,
    samples             bigint not null,
    unowned             bigint not null,
    credit              double not null,
    primary key (runid, userid, hostid, day),
    key dedloc_daily_credit_user (userid),
    key dedloc_daily_credit_host (hostid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
alter table dedloc_run add column if not exists compacted bigint not null default 0;

-- Credit of deleted accounts, without which the sum over all accounts is too small.
create table if not exists dedloc_deleted_credit (
    userid              bigint not null primary key,
    credit              double not null,
    deleted             double not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Computers that a ban has blacklisted under an official BOINC server (host.max_results_day = -1);
-- former: the value before.
create table if not exists dedloc_blacklisted_host (
    hostid              bigint not null primary key,
    former              integer not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Requests for e-mail that no relay has taken yet. purpose: reset, confirm. email: of the account
-- userid when it was asked for; both are empty if no account had the address. A former release wrote
-- what was typed, with userid 0. Times in UTC seconds. A secret is made at each attempt and is not
-- here.
create table if not exists dedloc_mail (
    id                  bigint not null auto_increment primary key,
    purpose             varchar(8) not null,
    userid              bigint not null default 0,
    email               varchar(254) not null,
    created             bigint not null,
    attempts            integer not null default 0,
    next_attempt        bigint not null,
    unique key dedloc_mail_request (purpose, userid, email),
    key dedloc_mail_due (next_attempt)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
alter table dedloc_mail
    add column if not exists userid bigint not null default 0,
    modify column email varchar(254) not null,
    drop index if exists dedloc_mail_same,
    add unique index if not exists dedloc_mail_request (purpose, userid, email);

-- ends: UTC seconds, when the last ticket of a deleted account expires; 0: an administrator's ban,
-- which lasts until it is withdrawn.
alter table dedloc_revocation add column if not exists ends bigint not null default 0;
create index if not exists dedloc_ticket_user on dedloc_ticket (userid, expires);

-- /metrics and the status page count the workunits of all apps that wait for a daemon.
create index if not exists dedloc_wu_validate on workunit (need_validate);
create index if not exists dedloc_wu_assimilate on workunit (assimilate_state);
-- dedloc-purge deletes old rows about deleted accounts, and evidence without a row.
create index if not exists dedloc_user_deleted_age on user_deleted (create_time);
create index if not exists dedloc_host_deleted_age on host_deleted (create_time);
create index if not exists dedloc_suspicion_evidence on dedloc_suspicion (evidence);
-- The scheduler stores one unhandled message for each result of a host.
create index if not exists dedloc_message_host on msg_from_host (hostid, handled);
-- What dedloc run jobs sets; 0: as dedloc-work was started.
alter table dedloc_run
    add column if not exists seats_ready integer not null default 0,
    add column if not exists lease_hours integer not null default 0;

-- What an app version needs beside BOINC's columns: the oldest Linux kernel of a host.
create table if not exists dedloc_app_version (
    id                  integer not null primary key,
    kernel_major        integer not null default 0,
    kernel_minor        integer not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
alter table dedloc_app_version
    add column if not exists kernel_major integer not null default 0,
    add column if not exists kernel_minor integer not null default 0,
    drop column if exists glibc_major,
    drop column if exists glibc_minor;

-- App versions that get no new jobs and that no job uses. since: UTC seconds, when dedloc-purge has
-- first seen that. is_final: it deletes their files, so they are never offered again.
create table if not exists dedloc_unused_version (
    id                  integer not null primary key,
    since               bigint not null,
    is_final            tinyint not null default 0
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- One row once the key that signs app versions has been changed: the public key by which all versions
-- are signed. dedloc app rekey changes it and them in one transaction.
create table if not exists dedloc_code_sign_key (
    id                  tinyint not null primary key,
    public_key          varchar(2000) not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- reduced_bytes: bytes of gradients that the key averaged, by the ledger; in dedloc_daily_credit
-- those of credited contributions, unowned_bytes the others. A gigabyte has 10^9 bytes.
alter table dedloc_run
    add column if not exists credit_per_gigabyte_reduced double not null default 20;
alter table dedloc_contribution add column if not exists reduced_bytes bigint not null default 0;
alter table dedloc_daily_credit
    add column if not exists reduced_bytes bigint not null default 0,
    add column if not exists unowned_bytes bigint not null default 0;
alter table dedloc_withheld add column if not exists reduced_bytes bigint not null default 0;

-- The most jobs of a run that only average, unsent and in progress together.
alter table dedloc_run add column if not exists aggregators integer not null default 8;

-- Checkpoints that jobs were asked to upload. asked, judged: UTC seconds. period and place: see
-- gateway/checkpoint_requests.hpp. verdict: empty until there is one (backbone/
-- uploaded_checkpoint.hpp). step: number of updates done.
create table if not exists dedloc_upload (
    runid               integer not null,
    resultid            bigint not null,
    asked               bigint not null,
    period              bigint not null,
    place               integer not null,
    verdict             varchar(8) not null default '',
    reason              varchar(254) not null default '',
    step                bigint not null default 0,
    judged              bigint not null default 0,
    primary key (runid, resultid),
    unique key dedloc_upload_place (runid, period, place),
    key dedloc_upload_open (verdict, asked)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
-- Whose upload a checkpoint is; empty: the backbone's own.
alter table dedloc_checkpoint add column if not exists source varchar(400) not null default '';
alter table dedloc_checkpoint modify column if exists path varchar(1024) not null;

-- network: of the address from which the job has asked, such as 203.0.113.0/24, in which its seat
-- counts; the same in all tickets of a job. Empty: it counts in none (gateway/seat_limits.hpp).
alter table dedloc_ticket
    add column if not exists network varchar(64) not null default '',
    add index if not exists dedloc_ticket_network (network, expires);
-- flops_per_sample is that of a sample of full length, for credit. least_flops_per_sample: the mean
-- of the shard with the shortest samples, without padding; 0: not known.
alter table dedloc_run
    add column if not exists least_flops_per_sample double not null default 0;

-- Who may make an account (join_policy.hpp), in the row with id 1; no row: anyone.
create table if not exists dedloc_join_policy (
    id                  tinyint not null primary key,
    policy              varchar(16) not null
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Invitation codes. hash: of the code, which nothing stores; tag: its first digits, by which the row
-- is found. places: accounts that the code may make; taken: that it has made. Times in UTC seconds;
-- expires 0: never; revoked 0: not.
create table if not exists dedloc_invitation (
    id                  bigint not null auto_increment primary key,
    tag                 char(16) not null,
    hash                char(64) not null,
    places              integer not null,
    taken               integer not null default 0,
    created             bigint not null,
    expires             bigint not null,
    revoked             bigint not null default 0,
    note                varchar(200) not null default '',
    unique key dedloc_invitation_tag (tag)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Presence of peers in runs by the ledger: one row for each stretch in which a peer took part without
-- a long gap (presence.hpp). began, ended: UTC seconds. Owner, version and device are those of the
-- job that had the key's ticket; 0 and empty: unknown. device: by what the client has reported.
create table if not exists dedloc_presence (
    runid               integer not null,
    peer_key            char(64) not null,
    began               bigint not null,
    ended               bigint not null,
    contributions       bigint not null,
    samples             bigint not null,
    reduced_bytes       bigint not null,
    userid              bigint not null default 0,
    hostid              bigint not null default 0,
    version             integer not null default 0,
    plan_class          varchar(254) not null default '',
    device              varchar(254) not null default '',
    primary key (runid, peer_key, began),
    key dedloc_presence_host (runid, hostid, began),
    key dedloc_presence_user (userid)
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;
alter table dedloc_presence add index if not exists dedloc_presence_computer (hostid, began);

-- Accounts that see the pages for administrators.
create table if not exists dedloc_administrator (
    userid              bigint not null primary key
) engine=InnoDB default character set utf8mb4 collate utf8mb4_nopad_bin;

-- Reference rows.
insert ignore into platform (create_time, name, user_friendly_name) values
    (unix_timestamp(), 'x86_64-pc-linux-gnu', 'Linux on an AMD x86_64 or Intel EM64T CPU'),
    (unix_timestamp(), 'aarch64-unknown-linux-gnu', 'Linux on an ARM 64-bit CPU'),
    (unix_timestamp(), 'windows_x86_64', 'Microsoft Windows on an AMD x86_64 or Intel EM64T CPU'),
    (unix_timestamp(), 'x86_64-apple-darwin', 'macOS on 64-bit Intel'),
    (unix_timestamp(), 'arm64-apple-darwin', 'macOS on Apple silicon');
