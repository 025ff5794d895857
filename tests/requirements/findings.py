"""Weaknesses that were found by attacks on an early build, and the tests that show them gone.

The ids are those of the report: critical, high, medium and low. `test_coverage.py` checks that the
tests exist. To run all of them: `pytest $(python -m tests.requirements.findings)`.
"""

from typing import Final, NamedTuple


class Finding(NamedTuple):
    """What holds now, and the tests that show it, each as `FILE::NAME` below `tests`."""

    id: str
    holds: str
    shown_by: tuple[str, ...]


FINDINGS: Final = (
    Finding(
        "C1",
        "A printed number beyond all bounds leaves a home that starts again.",
        (
            "engine/test_loading.py::test_a_snapshot_that_cannot_be_encoded_is_a_warning_and_muster_goes_on",
            "engine/test_loading.py::test_a_log_with_an_absurd_usage_from_before_it_was_bounded_is_loaded_and_has_a_snapshot",
            "machines/test_spending.py::test_an_invalid_usage_is_refused",
            "machines/test_spending.py::test_sums_of_usage_saturate_and_never_shrink",
            "sessions/test_intake.py::test_a_result_with_an_implausible_usage_counts_without_it_and_is_recorded",
        ),
    ),
    Finding(
        "C2",
        "The cookie of a browser is no token, and a page of another port cannot act with it.",
        (
            "http/test_auth.py::test_a_token_is_no_cookie",
            "http/test_auth.py::test_a_page_of_another_port_cannot_even_read_with_the_cookie",
            "http/test_auth.py::test_two_servers_on_one_host_do_not_sign_each_other_out",
        ),
    ),
    Finding(
        "H1",
        "Agent files that are FIFOs, devices or links out of the project hold up nobody.",
        (
            "http/routes/test_conversations.py::test_a_fifo_among_agent_files_holds_up_nobody",
            "http/routes/test_conversations.py::test_a_link_out_of_the_project_leads_to_no_agents",
            "test_regular_files.py::test_no_reader_waits_for_a_fifo_or_a_device",
        ),
    ),
    Finding(
        "H2",
        "A long path or command line is judged in the worker, within its time limit.",
        (
            "worker/test_deciding.py::test_a_call_is_judged_as_here_and_denied_when_its_time_is_up",
            "sessions/test_session_policy.py::test_a_request_that_takes_too_long_to_judge_is_denied_in_the_worker",
        ),
    ),
    Finding(
        "H3",
        "Markdown that takes long to render holds up nobody.",
        (
            "stress/test_hostile.py::test_health_answers_in_time_under_every_kind_of_hostile_input",
            "worker/test_process.py::test_a_call_that_is_over_its_cpu_time_is_ended_and_the_worker_goes_on",
        ),
    ),
    Finding(
        "H4",
        "No text passes for the words of a person, in prompts and in the log.",
        (
            "sessions/test_frames.py::test_a_hostile_text_adds_no_line_to_the_first_column",
            "sessions/test_frames.py::test_words_of_an_agent_are_never_on_record_as_a_persons",
        ),
    ),
    Finding(
        "H5",
        "A program of muster reads neither the operator's token nor secrets that are not passed.",
        (
            "runtimes/test_isolated.py::test_a_program_sees_its_own_folders_of_the_home_and_nothing_else",
            "runtimes/test_isolated.py::test_a_program_gets_no_secret_that_is_not_passed",
        ),
    ),
    Finding(
        "H6",
        "Bytes, streams and answers of a token are bounded; large writes leave a reserve of disk.",
        (
            "http/test_disk_space.py::test_a_full_disk_is_said_and_refused_before_the_log_fails_and_muster_recovers",
            "http/test_auth.py::test_a_token_has_a_quota_of_bytes_and_writes_a_minute",
            "http/test_auth.py::test_an_agent_that_sends_too_much_is_told_to_wait_and_the_operator_is_not",
            "http/routes/test_events.py::test_a_token_has_a_limited_number_of_streams",
            "http/routes/content/test_exports.py::test_messages_of_megabytes_come_in_pages_of_bytes_and_are_exported_whole",
            "engine/test_feed.py::test_a_page_is_bounded_in_bytes_and_shared_by_subscribers_at_the_same_place",
        ),
    ),
    Finding(
        "H7",
        "A sign-in link holds a code that works once.",
        (
            "http/test_auth.py::test_a_code_signs_in_once_and_not_for_ever",
            "http/test_auth.py::test_the_operators_token_is_in_a_private_file_and_the_printed_link_signs_in_once",
        ),
    ),
    Finding(
        "H8",
        "A cloned home runs nothing unasked, and a home of another user is refused.",
        (
            "cli/run/test_trusting.py::test_a_cloned_home_runs_nothing_until_it_is_trusted",
            "home/test_folder.py::test_a_home_of_another_user_is_refused_by_every_way_to_it",
        ),
    ),
    Finding(
        "H9",
        "No line of shell gets around the policy of MAIN, and no repository runs a program by git.",
        (
            "permissions/test_shell.py::test_a_denied_command_is_denied_in_every_kind_of_wrapping",
            "confine/test_canary.py::test_no_hostile_line_changes_a_file_outside_the_allowed_places",
            "confine/test_git.py::test_git_shows_a_change_and_runs_no_program_that_the_repository_names",
        ),
    ),
    Finding(
        "M1",
        "Strangers hold neither memory nor connections, and a full file table is one line.",
        (
            "http/test_auth.py::test_the_body_of_a_request_without_a_token_is_small",
            "http/test_protocol.py::test_a_head_that_does_not_arrive_in_time_ends_its_connection",
            "http/test_protocol.py::test_a_body_that_does_not_arrive_in_time_ends_its_connection",
            "http/test_protocol.py::test_a_connection_too_many_is_told_so",
            "http/test_server.py::test_a_full_file_table_is_one_line_and_the_server_goes_on",
        ),
    ),
    Finding(
        "M2",
        "Every damage of a log is found, and a lost log is not taken for a new team.",
        (
            "store/test_verifying.py::test_a_flipped_byte_a_lost_event_and_a_lost_run_of_events_are_listed",
            "cli/run/test_up.py::test_a_home_whose_log_is_gone_begins_no_new_team",
        ),
    ),
    Finding(
        "M3",
        "A running team is backed up and restored.",
        (
            "cli/look/test_backup.py::test_a_backup_is_restored_elsewhere_and_contains_the_same_team",
            "machines/test_tokens.py::test_a_restored_log_has_no_valid_token",
        ),
    ),
    Finding(
        "M4",
        "Deadlines keep their time when the wall clock is set.",
        (
            "machines/kernel/test_clock.py::test_turns_waits_and_silence_keep_their_time",
            "engine/test_team_clock.py::test_a_clock_set_back_while_muster_was_down_sets_deadlines_back",
        ),
    ),
    Finding(
        "M5",
        "An inbox file with too much in it is one warning.",
        (
            "mirrors/inbox_file/test_format.py::test_an_inbox_with_too_many_values_is_malformed_as_a_whole",
        ),
    ),
    Finding(
        "M6",
        "Nothing that a program leaves behind outlives its session.",
        (
            "runtimes/process/test_leaving.py::test_whoever_a_program_has_started_is_stopped_and_killed_with_it",
            "runtimes/test_isolated.py::test_nothing_that_a_strict_program_starts_outlives_it",
        ),
    ),
    Finding(
        "M7",
        "A wake reads the newest messages alone.",
        (
            "views/memory/test_wake_payload.py::test_of_a_long_session_only_the_newest_messages_are_read",
        ),
    ),
    Finding(
        "M8",
        "Private files are shown to nobody, or to operators alone.",
        (
            "http/routes/test_dialogues.py::test_private_files_are_shown_to_nobody_or_to_operators_alone",
        ),
    ),
    Finding(
        "M9",
        "No GET acts, and no page of another origin acts by a request with the cookie.",
        (
            "http/test_reads.py::test_no_read_adds_an_event_to_the_log",
            "http/test_reads.py::test_the_next_work_is_no_get_and_the_answer_names_the_method",
            "http/test_auth.py::test_a_page_of_another_port_cannot_even_read_with_the_cookie",
            "http/test_auth.py::test_a_page_of_another_site_cannot_use_the_cookie",
        ),
    ),
    Finding(
        "M10",
        "A stream that ends leaves nothing behind.",
        ("engine/test_feed.py::test_a_subscriber_that_leaves_takes_its_filter_along",),
    ),
    Finding(
        "M11",
        "Refused requests are on record by who tried, and the log has a hash chain.",
        (
            "http/test_refusals.py::test_refused_requests_are_one_warning_a_minute_by_who_tried",
            "http/routes/test_users.py::test_everybody_acts_under_their_own_name",
            "store/test_verifying.py::test_an_event_rewritten_with_its_checksum_breaks_the_chain",
        ),
    ),
    Finding(
        "L1",
        "Names that look alike, reserved names and impossible seats are refused.",
        (
            "machines/identity/test_lookalikes.py::test_a_name_that_looks_like_a_person_or_a_word_of_muster_is_reserved",
            "machines/identity/test_bounds.py::test_a_registration_out_of_bounds_is_refused",
        ),
    ),
    Finding(
        "L2",
        "A flood of requests of a program is bounded.",
        ("runtimes/process/test_line_requests.py::test_a_flood_of_requests_is_bounded",),
    ),
    Finding(
        "L3",
        "A commit that the disk did not confirm is told as unknown, not as refused.",
        ("store/test_unsynced.py::test_a_commit_that_the_disk_did_not_confirm_is_in_doubt",),
    ),
    Finding(
        "L4",
        "Readiness tells when the log cannot be written.",
        (
            "http/routes/test_metrics.py::test_a_server_whose_log_cannot_be_written_is_not_ready_and_says_so",
        ),
    ),
    Finding(
        "L5",
        "A length with chunks is refused, HEAD is answered, malformed requests fill no log.",
        (
            "http/test_protocol.py::test_a_length_and_chunks_in_one_request_are_refused",
            "http/test_protocol.py::test_malformed_requests_are_one_line_of_log_a_minute",
            "http/test_reads.py::test_no_read_adds_an_event_to_the_log",
        ),
    ),
    Finding(
        "L6",
        "Words of agents cannot control a terminal.",
        (
            "cli/look/test_reading.py::test_nothing_that_an_agent_wrote_reaches_the_terminal_as_a_command",
        ),
    ),
    Finding(
        "L7",
        "With an open umask, nobody else can change what muster makes, or read a home.",
        (
            "cli/run/test_private_files.py::test_no_file_of_a_home_is_open_to_others_with_an_open_umask",
            "cli/run/test_private_files.py::test_nobody_else_can_change_the_folder_of_a_session_with_an_open_umask",
        ),
    ),
    Finding(
        "L8",
        "A server that others reach without TLS warns, and prints a link that works.",
        (
            "http/test_auth.py::test_a_server_on_all_interfaces_warns_and_prints_a_link_that_a_browser_reaches",
        ),
    ),
    Finding(
        "L9",
        "No address signs in by a GET with a token.",
        (
            "http/test_auth.py::test_the_operators_token_is_in_a_private_file_and_the_printed_link_signs_in_once",
        ),
    ),
)

if __name__ == "__main__":
    print(" ".join(f"tests/{test}" for finding in FINDINGS for test in finding.shown_by))
