"""The promises of muster, one sentence each, and the tests that show them.

Every test named under a promise must pass for it to hold; `test_coverage.py` checks that the names
exist. To run one: `pytest tests/machines/turns/test_turns.py -k the_name`.
"""

from typing import NamedTuple


class Promise(NamedTuple):
    """A sentence that users can rely on, and the tests that show it, by file."""

    says: str
    shown_by: dict[str, list[str]]


TURNS = (
    Promise(
        "A result completes only a turn whose prompt the program has accepted.",
        {
            "machines/turns/test_table.py": [
                "test_a_held_turn_is_active_unless_it_waits",
                "test_a_turn_is_taken_when_its_program_has_accepted_the_prompt",
                "test_a_turn_that_was_taken_away_is_not_held_while_its_work_stops",
            ],
        },
    ),
    Promise(
        "In one channel there are never two agents ACTIVE at the same time.",
        {
            "machines/kernel/test_explore.py": ["test_every_reachable_state_keeps_every_invariant"],
            "machines/kernel/test_parts.py": ["test_every_invariant_notices_when_it_is_broken"],
            "machines/kernel/test_whole_team.py": ["TestWholeTeam"],
            "simulation/test_world.py": ["test_no_invariant_breaks_in_a_simulated_team"],
        },
    ),
    Promise(
        "Every row of the turn-taking table exists, can happen, and is in its diagram.",
        {
            "machines/turns/test_turns.py": [
                "test_the_table_has_every_basic_row",
                "test_every_basic_row_happens",
                "test_the_rows_that_happen_are_all_the_basic_rows",
            ],
            "machines/kernel/test_parts.py": ["test_the_diagram_of_turns_has_every_basic_row"],
        },
    ),
    Promise(
        "Every act is idempotent by its key, and each message is delivered in order, exactly once.",
        {
            "machines/test_keys.py": [
                "test_an_act_is_carried_out_once_under_its_key_whatever_it_is",
                "test_a_retry_after_the_end_of_the_turn_is_a_repeat_and_not_stale",
            ],
            "http/test_retries.py": [
                "test_a_request_that_is_sent_twice_with_one_key_is_carried_out_once",
            ],
            "machines/turns/test_messages.py": [
                "test_delivery_only_moves_forward_and_not_past_the_newest_message",
            ],
        },
    ),
    Promise(
        "An agent keeps its place in the ring after a turn or a timeout; a new member comes last.",
        {
            "machines/turns/test_turns.py": [
                "test_a_timeout_is_announced_and_keeps_the_place_in_the_queue",
                "test_a_new_member_is_added_at_the_end_of_the_ring",
                "test_removing_the_holder_passes_the_turn_to_the_next",
            ],
        },
    ),
    Promise(
        "An agent that crashes in its turn loses the turn and its place, and the next gets it.",
        {
            "machines/turns/test_turns.py": [
                "test_an_agent_that_crashes_mid_turn_forfeits_it_and_the_next_is_granted",
                "test_an_agent_that_comes_back_after_a_crash_is_idle_and_not_queued_again",
            ],
            "machines/run_control/test_run_control.py": [
                "test_a_crash_takes_an_agent_out_of_its_channels_and_an_orderly_end_does_not",
            ],
        },
    ),
    Promise(
        "A session that ends cleanly completes its turn and keeps its agent's places.",
        {
            "machines/turns/test_turns.py": [
                "test_the_end_of_a_session_completes_its_turn_and_keeps_its_place",
                "test_a_granted_turn_wakes_a_sleeper_that_may_run",
            ],
        },
    ),
    Promise(
        "An agent has at most its maximum of concurrent turns, and is skipped without loss.",
        {
            "machines/turns/test_turns.py": [
                "test_an_agent_holds_one_turn_at_a_time_and_the_channel_that_passed_it_over_waits",
                "test_an_agent_may_hold_several_turns_if_it_says_so",
                "test_a_busy_agent_is_passed_over_and_keeps_its_place",
                "test_the_channel_that_has_waited_longest_for_an_agent_is_served_first",
            ],
        },
    ),
    Promise(
        "A post for a turn that is over is refused, and the refusal is in the log.",
        {
            "machines/turns/test_turns.py": [
                "test_every_grant_has_a_number_that_grows_and_an_old_one_is_refused",
            ],
            "machines/kernel/test_parts.py": ["test_a_refused_command_can_be_recorded"],
            "engine/test_dispatcher.py": [
                "test_a_recorded_refusal_is_on_disk_before_it_is_raised",
            ],
        },
    ),
    Promise(
        "Only the holder of the turn may post or complete; a refusal names the holder.",
        {
            "machines/turns/test_turns.py": [
                "test_only_the_holder_may_speak_and_the_refusal_says_who_holds_the_turn",
            ],
        },
    ),
    Promise(
        "A waiting agent keeps the turn, resumes with the remaining time, or forfeits it.",
        {
            "machines/turns/test_turns.py": [
                "test_a_waiting_agent_holds_the_turn_and_resumes_with_the_time_that_was_left",
                "test_a_wait_may_have_a_timeout_of_its_own",
                "test_a_human_can_override_a_wait",
                "test_a_session_that_ends_while_its_turn_waits_forfeits_the_turn",
            ],
        },
    ),
    Promise(
        "A revoked turn goes to the next agent only when the work on it has stopped.",
        {
            "machines/turns/test_turns.py": [
                "test_a_turn_taken_from_a_session_is_granted_again_only_when_its_work_has_stopped",
                "test_work_that_does_not_stop_is_killed_and_then_the_next_is_granted",
                "test_after_an_unconfirmed_kill_the_channel_goes_on_with_a_warning",
                "test_a_vacant_turn_cannot_be_given_away_while_work_is_being_stopped",
            ],
            "sessions/test_reactor.py": [
                "test_work_that_lost_its_turn_is_interrupted_and_its_end_reported",
                "test_work_that_does_not_stop_in_time_is_killed_with_its_session",
            ],
        },
    ),
    Promise(
        "Activity renews the timeout of a turn, up to a cap.",
        {
            "machines/turns/test_turns.py": [
                "test_signs_of_work_renew_a_turn_up_to_its_cap_and_small_ones_are_not_logged",
            ],
            "engine/test_timers.py": ["test_activity_moves_the_deadline"],
        },
    ),
    Promise(
        "A channel rests after silent rounds, until the next post.",
        {
            "machines/turns/test_turns.py": [
                "test_a_channel_rests_after_silent_rounds_until_somebody_posts",
                "test_a_post_in_a_round_keeps_a_channel_awake",
                "test_a_lone_member_that_completes_is_idle_until_somebody_posts",
            ],
        },
    ),
    Promise(
        "A member with unread messages is granted again, and one without news is not asked.",
        {
            "machines/turns/test_news.py": [
                "test_a_lone_agent_is_granted_again_for_what_a_human_said_in_its_turn",
                "test_a_silent_round_is_one_event_and_the_rest_of_the_channel",
                "test_members_that_muster_runs_are_not_asked_before_anybody_has_spoken",
                "test_an_agent_that_has_turns_unasked_is_granted_without_news",
                "test_agents_that_connect_by_themselves_are_granted_as_ever",
            ],
        },
    ),
    Promise(
        "An agent whose turn a person takes away stops until there is something new for it.",
        {
            "machines/turns/test_taken_away.py": [
                "test_a_lone_agent_whose_turn_is_taken_away_is_not_granted_again",
                "test_a_new_message_lets_the_agent_speak_again_and_is_all_that_it_is_handed",
                "test_in_a_ring_the_next_member_goes_on_and_its_words_are_new",
            ],
        },
    ),
    Promise(
        "A wait for a person ends with the person's message, and the agent is handed it.",
        {
            "machines/turns/test_news.py": [
                "test_a_person_s_message_ends_the_wait_for_a_person_and_the_agent_is_handed_it",
                "test_a_wait_for_something_else_ends_by_a_resume_only",
            ],
        },
    ),
    Promise(
        "A session never completes a turn that its program was not told of.",
        {
            "machines/turns/test_news.py": [
                "test_a_session_that_ends_before_it_was_told_of_its_turn_does_not_complete_it",
                "test_a_program_that_ends_without_taking_its_turns_comes_to_rest",
            ],
        },
    ),
    Promise(
        "A notice is a message in its channel, and no news.",
        {
            "machines/turns/test_news.py": [
                "test_a_notice_is_a_message_in_the_channel_that_is_handed_over_with_the_next_turn",
                "test_a_notice_is_no_news_for_anybody",
            ],
        },
    ),
    Promise(
        "A person's choice, a handoff, mentions and raised hands go before the ring, in that order.",
        {
            "machines/turns/test_order.py": [
                "test_a_person_says_in_a_running_channel_who_speaks_next",
                "test_the_speaker_hands_the_turn_to_a_named_member",
                "test_members_that_the_speaker_mentions_speak_next_in_the_order_of_the_text",
                "test_a_member_that_raises_its_hand_speaks_before_the_ring_s_next",
                "test_claims_are_served_by_importance_and_of_equals_the_older_first",
                "test_a_hostile_text_full_of_mentions_is_read_quickly",
            ],
        },
    ),
    Promise(
        "A selector is asked who speaks next; its answer is checked, its silence leaves the ring.",
        {
            "machines/turns/test_selector.py": [
                "test_the_selector_is_asked_before_every_turn_and_its_choice_speaks",
                "test_an_answer_names_one_member_or_the_ring_decides",
                "test_the_silence_of_the_selector_falls_back_to_the_ring",
                "test_nobody_ends_the_conversation_until_a_person_speaks",
            ],
        },
    ),
    Promise(
        "A conversation ends at a limit and says which; a message or a higher limit lets it go on.",
        {
            "machines/turns/test_ends.py": [
                "test_a_conversation_ends_at_a_limit_per_message_and_a_message_lets_it_go_on",
                "test_at_a_limit_in_all_a_message_does_not_help_and_the_channel_says_so",
                "test_a_conversation_ends_when_it_has_cost_enough",
                "test_the_stop_phrase_of_an_agent_ends_the_conversation",
                "test_a_higher_limit_lets_a_channel_go_on",
                "test_the_defaults_protect_a_new_user",
                "test_a_resting_channel_that_everybody_left_stops_resting",
            ],
        },
    ),
    Promise(
        "A channel is created whole, joined in advance or by invitation, ordered, archived, restored.",
        {
            "machines/turns/test_channels.py": [
                "test_a_channel_that_one_member_cannot_join_is_not_created",
                "test_agents_can_be_put_into_a_channel_before_they_connect",
                "test_a_person_s_removal_lasts_until_a_person_adds_the_agent_again",
                "test_where_only_people_invite_no_agent_joins_by_itself",
                "test_the_order_of_the_ring_changes_and_goes_on_after_the_speaker",
                "test_the_timeout_of_a_member_is_changed_later_and_a_running_turn_keeps_its_own",
                "test_a_channel_is_archived_and_restored_in_every_state",
            ],
        },
    ),
    Promise(
        "An agent that crashed or lost its connection comes back to its place; a removal lasts.",
        {
            "machines/turns/test_lost_places.py": [
                "test_an_agent_that_muster_starts_again_has_its_place_again",
                "test_after_a_kill_of_muster_all_members_are_back_in_their_order",
                "test_an_agent_that_connects_again_joins_again_at_its_old_place",
                "test_a_person_s_removal_forgets_a_lost_place",
                "test_a_disabled_agent_does_not_come_back_to_its_places",
            ],
            "acceptance/test_lost_places.py": [
                "test_members_are_back_in_their_places_after_a_kill_of_muster",
                "test_a_member_whose_program_crashes_is_back_in_its_place",
            ],
            "client/test_turn.py": [
                "test_a_member_of_a_private_channel_comes_back_to_its_place_by_itself",
                "test_a_channel_that_is_not_there_is_joined_when_it_is",
            ],
        },
    ),
    Promise(
        "A person can always post, and chooses how that interrupts a turn in progress.",
        {
            "machines/turns/test_turns.py": [
                "test_a_human_message_in_mid_turn_goes_where_its_mode_says",
                "test_a_human_who_interrupts_holds_the_turn_until_released_or_silent",
                "test_a_human_can_take_the_turn_away_and_give_a_vacant_one",
                "test_inject_is_the_default_mode",
            ],
        },
    ),
    Promise(
        "A turn that its holder never ends is detected: by silence if configured, else by a timeout.",
        {
            "machines/turns/test_turns.py": [
                "test_silence_after_a_post_ends_the_turn_where_the_channel_detects_it",
                "test_silence_without_a_post_does_not_end_a_turn",
                "test_an_agent_that_forgets_turn_complete_causes_a_warning_at_the_timeout",
            ],
        },
    ),
    Promise(
        "A free turn is granted as soon as a member is free for it.",
        {
            "machines/kernel/test_explore.py": [
                "test_every_reachable_state_keeps_every_invariant",
                "test_the_explorer_detects_a_turn_that_is_never_granted",
            ],
            "machines/turns/test_turns.py": [
                "test_a_second_member_makes_a_lone_idle_one_queued",
                "test_when_all_agents_are_gone_messages_are_kept_and_the_first_to_return_is_active",
            ],
        },
    ),
)

RUN_CONTROL = (
    Promise(
        "A paused agent never runs, whatever requests it.",
        {
            "machines/run_control/test_run_control.py": [
                "test_a_paused_agent_never_starts_whatever_the_trigger",
                "test_a_refused_start_names_the_rule",
                "test_pause_lets_the_session_finish_and_starts_no_other",
            ],
            "acceptance/test_gate.py": [
                "test_a_paused_or_disabled_agent_never_runs_whatever_asks",
                "test_a_person_wakes_a_paused_agent_but_not_a_disabled_one",
            ],
            "simulation/test_world.py": [
                "test_no_invariant_breaks_in_a_simulated_team",
                "test_a_broken_rule_is_found_and_the_command_to_reproduce_it_is_printed",
            ],
        },
    ),
    Promise(
        "An agent is restarted, started with muster and started after others as its settings say;"
        " a person's pause always stands.",
        {
            "machines/run_control/test_state_files.py": [
                "test_no_start_is_accepted_while_the_file_cannot_be_read",
            ],
            "machines/identity/test_waking_stopped.py": [
                "test_agents_that_were_stopped_are_spared_and_a_sleep_ends",
            ],
            "machines/run_control/test_policies.py": [
                "test_an_agent_that_is_not_restarted_is_paused_after_a_success",
                "test_a_failure_is_retried_under_on_failure_and_pauses_under_never",
                "test_a_persons_pause_stands_at_every_start_even_after_a_single_session",
                "test_an_agent_starts_when_those_that_it_starts_after_run",
                "test_a_stop_after_a_restart_is_never_lost",
            ],
            "acceptance/test_missed_runs.py": [
                "test_runs_that_were_missed_over_a_gap_are_made_up_for_once_or_skipped",
            ],
            "machines/run_control/test_schedule.py": [
                "test_an_interval_counts_from_a_run_that_a_person_started",
                "test_after_a_stop_or_a_single_session_the_first_run_is_one_interval_after_the_start",
                "test_a_schedule_never_starts_a_paused_agent",
                "test_no_time_is_taken_twice",
                "test_a_fixed_time_runs_once_when_the_hour_comes_twice",
            ],
            "machines/run_control/test_silence.py": [
                "test_a_silent_session_is_told_of_once_until_it_is_seen_again",
            ],
            "engine/test_schedules.py": [
                "test_an_agent_runs_when_its_time_comes_and_a_restart_takes_no_time_twice",
            ],
            "settings/test_policies.py": [
                "test_a_wrong_policy_is_reported_with_its_line_and_a_remedy",
                "test_agents_that_wait_for_each_other_are_refused_with_the_way_around",
            ],
        },
    ),
    Promise(
        "A program that ends by itself runs when there is work for it, unless it declares that it"
        " finds its own.",
        {
            "machines/run_control/test_work.py": [
                "test_a_start_without_work_starts_nothing_that_would_cost_a_model_request",
                "test_a_start_runs_any_other_program_once",
                "test_a_message_is_work",
                "test_a_turn_is_work",
                "test_a_session_that_was_lost_with_muster_runs_again",
            ],
            "acceptance/test_work.py": [
                "test_a_program_runs_for_a_turn_and_a_message_and_never_without_work",
            ],
            "settings/test_policies.py": [
                "test_a_program_loops_if_its_settings_say_so_or_it_can_be_told_nothing",
            ],
        },
    ),
    Promise(
        "The reason of a failure is kept until a session succeeds, and shown everywhere.",
        {
            "machines/run_control/test_policies.py": [
                "test_the_reason_of_a_failure_is_kept_until_a_session_succeeds",
            ],
        },
    ),
    Promise(
        "A one-shot is exactly one session; its final pause does not overwrite a newer desired state.",
        {
            "machines/run_control/test_run_control.py": [
                "test_a_one_shot_runs_exactly_one_session_and_then_pauses_by_itself",
                "test_a_failed_one_shot_is_not_retried",
                "test_the_automatic_pause_does_not_overwrite_a_newer_desired_mode",
            ],
        },
    ),
    Promise(
        "Only people and the end of a one-shot change the desired state, which has a generation.",
        {
            "machines/run_control/test_run_control.py": [
                "test_every_change_of_desired_has_a_generation_and_current_says_which_it_answers",
                "test_a_stale_generation_is_refused",
                "test_people_may_set_any_mode_and_only_one_shots_pause_automatically",
            ],
        },
    ),
    Promise(
        "A stop lets the current work finish; a second stop does not wait.",
        {
            "machines/run_control/test_run_control.py": [
                "test_a_second_stop_is_a_stop_now_and_a_third_changes_nothing",
                "test_stop_now_stops_at_once_and_does_not_count_as_a_crash",
            ],
            "sessions/test_reactor.py": ["test_a_stop_is_passed_on_with_its_urgency"],
        },
    ),
    Promise(
        "Failures are retried with visible backoff, never in a busy loop.",
        {
            "machines/run_control/test_run_control.py": [
                "test_failures_are_retried_with_exponential_backoff",
                "test_a_successful_session_resets_the_failures",
            ],
        },
    ),
    Promise(
        "A disabled agent is OFFLINE, and nothing starts it.",
        {
            "machines/identity/test_identity.py": [
                "test_a_disabled_agent_is_offline_and_cannot_connect_until_it_is_enabled",
            ],
            "machines/turns/test_turns.py": [
                "test_a_disabled_agent_leaves_its_channels_and_its_work_is_stopped",
            ],
            "acceptance/test_supervised.py": [
                "test_a_long_lived_agent_that_is_disabled_ends_and_muster_goes_on",
            ],
        },
    ),
)

IDENTITY = (
    Promise(
        "A seat keeps its first name and its first soul.",
        {
            "machines/identity/test_identity.py": [
                "test_a_seat_keeps_its_first_name",
                "test_a_registration_in_every_state",
            ],
        },
    ),
    Promise(
        "A birth without a name times out, and can be retried.",
        {
            "machines/identity/test_identity.py": [
                "test_a_seat_without_a_registration_expires_after_five_minutes_and_is_kept",
                "test_a_summon_that_failed_altogether_can_be_repeated",
            ],
        },
    ),
    Promise(
        "There are no ghosts: an agent that muster runs is alive only while its process lives.",
        {
            "machines/kernel/test_explore.py": ["test_every_reachable_state_keeps_every_invariant"],
            "machines/identity/test_identity.py": [
                "test_an_agent_cannot_register_from_a_session_that_has_ended"
            ],
            "simulation/test_world.py": ["test_no_invariant_breaks_in_a_simulated_team"],
        },
    ),
    Promise(
        "A report that contradicts the authority changes nothing, and is logged as a conflict.",
        {
            "machines/identity/test_identity.py": [
                "test_a_report_that_contradicts_a_process_changes_nothing_and_is_logged_as_a_conflict",
                "test_only_the_lead_can_register_and_report_its_agents",
            ],
            "machines/run_control/test_run_control.py": [
                "test_only_the_process_reports_for_an_agent_that_muster_runs",
            ],
        },
    ),
    Promise(
        "The end of a session affects the seats in it, and no others.",
        {
            "machines/identity/test_identity.py": [
                "test_a_session_end_touches_only_the_seats_in_that_session",
                "test_the_end_of_the_leads_session_in_every_state",
            ],
        },
    ),
    Promise(
        "Agents missing in a lead's report go to sleep, and a hatching seat never changes by one.",
        {
            "machines/identity/test_identity.py": [
                "test_a_status_report_in_every_state",
                "test_an_entry_that_is_not_alive_counts_as_not_listed",
                "test_a_lead_that_lost_its_team_puts_all_to_sleep_with_an_empty_list",
            ],
        },
    ),
    Promise(
        "No agent is shown as alive without confirmation, and every shown state names its source.",
        {
            "machines/identity/test_identity.py": [
                "test_after_a_restart_an_alive_agent_is_unknown_until_its_authority_confirms_it",
                "test_every_status_has_its_evidence",
            ],
            "cli/look/test_reading.py": [
                "test_an_agent_is_shown_as_alive_only_while_a_server_runs",
            ],
        },
    ),
    Promise(
        "Names are unique regardless of case, and none can escape its folder.",
        {
            "machines/identity/test_identity.py": [
                "test_names_are_unique_without_regard_to_case",
                "test_a_name_that_is_reserved_or_not_plain_is_refused",
                "test_a_plain_name_in_any_script_is_taken",
            ],
            "machines/turns/test_turns.py": [
                "test_a_channel_name_that_could_escape_its_folder_is_refused",
            ],
        },
    ),
    Promise(
        "An invalid marker changes nothing, and the reason is in the log.",
        {
            "machines/identity/test_identity.py": [
                "test_a_rejected_marker_changes_nothing_and_is_on_record"
            ],
        },
    ),
    Promise(
        "An agent that connects by itself gets a seat outside the grid, and is alive while connected.",
        {
            "machines/identity/test_identity.py": [
                "test_an_agent_that_enrols_takes_the_next_free_seat_from_nine_on_and_sleeps",
                "test_an_agent_that_connects_is_alive_while_it_is_connected",
            ],
        },
    ),
)

LIFE = (
    Promise(
        "muster stops in order: it drains, then stops, and says who still works.",
        {
            "machines/run_control/test_shutdown.py": [
                "test_a_drain_asks_every_session_to_finish_and_starts_nothing",
                "test_a_drain_that_takes_too_long_becomes_a_stop_now",
                "test_people_cannot_start_anything_while_muster_stops",
                "test_no_turn_is_granted_to_a_program_of_muster_while_it_stops",
            ],
            "cli/run/test_stopping.py": [
                "test_the_first_signal_lets_sessions_finish_and_says_which",
                "test_a_drain_that_takes_too_long_ends_sessions_now",
                "test_nothing_starts_during_a_drain_and_the_refusal_says_why",
                "test_a_request_over_http_drains_and_a_second_one_stops_now",
            ],
        },
    ),
    Promise(
        "A one-shot that muster's own end cut off is still wanted, and runs once at the next start.",
        {
            "machines/run_control/test_shutdown.py": [
                "test_a_one_shot_that_muster_cuts_off_is_still_wanted",
                "test_a_one_shot_whose_muster_was_killed_is_still_wanted",
                "test_a_one_shot_that_finishes_in_the_drain_is_done",
            ],
            "cli/run/test_stopping.py": [
                "test_the_second_signal_stops_now_and_a_one_shot_is_still_wanted",
                "test_a_one_shot_whose_muster_was_killed_runs_once_more",
            ],
            "cli/run/test_run.py": ["test_a_one_shot_that_the_runner_cut_off_is_still_wanted"],
        },
    ),
    Promise(
        "A fault of the disk or the home is one line that names the file and the remedy.",
        {
            "cli/test_faults.py": [
                "test_an_error_of_the_system_names_the_file_and_the_remedy",
                "test_a_home_that_cannot_be_made_is_one_line_with_its_code",
                "test_an_address_that_cannot_be_written_is_no_bug_of_muster",
                "test_nothing_starts_if_the_address_cannot_be_written",
                "test_a_reserved_address_is_published_on_a_full_disk",
                "test_an_address_that_finds_no_room_is_named_and_leaves_nothing",
            ],
        },
    ),
    Promise(
        "A server runs in the background or under systemd, and is stopped whatever state it is in.",
        {
            "cli/run/test_detaching.py": [
                "test_a_server_in_the_background_is_ready_when_the_command_returns",
                "test_the_error_of_a_start_in_the_background_is_shown_with_its_code",
                "test_a_server_that_hangs_is_killed_and_so_are_the_programs_that_it_leaves",
                "test_a_restart_keeps_the_address_and_the_agents_that_run",
            ],
            "cli/run/test_notifying.py": [
                "test_a_server_says_when_it_is_ready_that_it_lives_and_when_it_stops",
            ],
            "cli/setup/test_service.py": [
                "test_the_unit_is_valid_for_systemd",
                "test_without_systemd_the_alternative_is_named_and_nothing_is_written",
            ],
        },
    ),
    Promise(
        "A closed terminal ends muster in order, and no agent is left running.",
        {
            "cli/run/test_stopping.py": [
                "test_closing_the_terminal_ends_muster_in_order",
                "test_a_muster_that_ignores_the_end_of_its_terminal_goes_on",
                "test_a_pipe_that_nobody_reads_any_more_does_not_keep_it_from_ending_in_order",
            ],
        },
    ),
)


DELEGATION = (
    Promise(
        "In each of the three modes a conversation moves only as that mode allows.",
        {
            "machines/delegation/test_delegation.py": [
                "test_in_orchestrator_mode_a_task_goes_to_an_agent_and_back_to_main",
                "test_only_in_interactive_mode_may_an_agent_hand_over",
                "test_in_interactive_mode_a_chain_of_agents_leads_back_to_main",
                "test_in_response_mode_a_failure_goes_back_to_the_queue_as_the_result",
            ],
        },
    ),
    Promise(
        "A queued message is claimed once, however many agents compete for it.",
        {
            "machines/delegation/test_delegation.py": [
                "test_in_response_mode_a_message_waits_in_a_queue_and_is_claimed_exactly_once",
            ],
        },
    ),
    Promise(
        "A delegation loop is stopped.",
        {
            "machines/delegation/test_delegation.py": [
                "test_a_chain_that_comes_back_without_progress_is_stopped_with_a_warning",
                "test_a_chain_that_comes_back_with_progress_goes_on",
            ],
        },
    ),
    Promise(
        "Two conversations never get the same number, and earlier holders cannot continue.",
        {
            "machines/delegation/test_delegation.py": [
                "test_every_input_is_a_conversation_with_a_number_of_its_own",
                "test_only_the_agent_that_was_handed_it_last_may_go_on",
            ],
        },
    ),
)

LOG = (
    Promise(
        "An acknowledged command is on disk, and survives kill -9.",
        {
            "engine/test_dispatcher.py": [
                "test_an_answered_command_is_on_disk",
                "test_readers_see_nothing_that_is_not_on_disk",
            ],
            "store/test_conformance.py": ["test_answered_events_are_there_after_a_restart"],
            "store/test_kill.py": ["test_acknowledged_events_survive_kill_9_at_any_moment"],
        },
    ),
    Promise(
        "The log has one total order, without duplicate or missing numbers.",
        {
            "store/test_conformance.py": ["test_a_log_never_has_a_gap_or_a_duplicate_seq"],
            "store/test_damage.py": ["test_a_missing_event_is_found"],
            "engine/test_loading.py": ["test_a_log_with_a_gap_is_not_folded"],
            "machines/kernel/test_parts.py": ["test_events_must_be_consecutive"],
        },
    ),
    Promise(
        "The state is the fold of the log, with a snapshot or without.",
        {
            "engine/test_dispatcher.py": ["test_the_committed_state_is_the_fold_of_the_log"],
            "engine/test_loading.py": [
                "test_a_snapshot_and_its_tail_give_the_same_team_as_the_whole_log",
                "test_a_snapshot_that_cannot_be_used_costs_only_time",
                "test_a_snapshot_that_cannot_be_encoded_is_a_warning_and_muster_goes_on",
            ],
            "machines/kernel/test_whole_team.py": ["TestWholeTeam"],
        },
    ),
    Promise(
        "The head of a request is bounded, so that nobody fills the server's memory with one.",
        {"http/test_protocol.py": ["test_a_head_that_does_not_end_is_cut_off"]},
    ),
    Promise(
        "The work for one agent does not grow with the team.",
        {
            "machines/kernel/test_growth.py": [
                "test_the_work_for_one_agent_is_the_same_in_a_large_team"
            ]
        },
    ),
    Promise(
        "A refused command changes nothing, and the refusal names the rule.",
        {
            "machines/kernel/test_pairs.py": [
                "test_every_command_moves_or_refuses_and_a_refusal_leaves_the_state_equal",
            ],
            "engine/test_dispatcher.py": ["test_a_command_that_is_refused_changes_nothing"],
        },
    ),
    Promise(
        "A node has a lease: another life cannot take its name while it beats, the others give it up when it does not, "
        "and sessions that may move are dead before that, even if the node is frozen or killed.",
        {
            "store/test_leases.py": [
                "test_a_name_belongs_to_the_life_that_took_it_first",
                "test_only_the_life_of_a_lease_renews_and_releases_it",
                "test_a_lease_is_replaced_only_as_it_was_seen",
            ],
            "nodes/test_watching.py": [
                "test_a_node_gives_its_sessions_up_before_others_take_them",
                "test_a_beat_is_too_old_after_its_own_lease_and_not_before",
                "test_a_node_that_could_not_look_or_finds_another_server_begins_anew",
            ],
            "nodes/test_naming.py": [
                "test_a_lease_that_this_home_left_behind_is_replaced_at_once",
                "test_a_name_whose_lease_beats_is_taken",
            ],
            "nodes/test_lease.py": [
                "test_a_permit_of_a_session_that_moves_ends_with_the_lease",
                "test_a_permit_is_good_for_its_own_term",
            ],
            "nodes/test_membership.py": [
                "test_a_silent_node_is_given_up_once_and_not_before_its_lease_is_over",
                "test_a_node_that_was_cut_off_returns_with_a_new_term_and_forgets_what_it_saw",
            ],
            "nodes/test_warden.py": [
                "test_movers_and_their_daemons_die_when_the_lease_is_over_and_the_others_live",
                "test_a_new_term_begins_when_the_sessions_before_it_are_dead",
                "test_a_start_sweeps_what_other_lives_in_its_home_have_left",
            ],
            "http/routes/people/test_nodes.py": [
                "test_the_nodes_of_a_team_are_listed_with_their_sessions_and_agents",
                "test_an_agent_is_moved_and_off_a_node_that_is_away_only_by_a_word",
                "test_verbs_show_nodes_and_the_agents_on_them_without_a_server",
            ],
            "stress/test_nodes.py": [
                "test_no_agent_runs_twice_and_all_run_again_after_every_fault",
            ],
            "engine/test_several_nodes.py": [
                "test_the_second_node_sends_a_deadline_later_and_only_if_the_first_is_gone",
                "test_a_node_expects_the_agents_that_it_heard_and_those_of_a_node_that_is_gone",
                "test_a_new_node_reacts_from_its_own_start_on_and_has_a_cursor_of_its_own",
            ],
            "machines/nodes/test_line.py": [
                "test_the_oldest_node_that_is_here_is_the_first_in_line",
            ],
            "sessions/test_fenced.py": [
                "test_a_session_that_was_killed_with_its_lease_is_lost_and_has_not_failed",
                "test_an_order_that_waited_longer_than_the_lease_starts_nothing",
            ],
        },
    ),
    Promise(
        "A team on several machines runs each agent on the one that it belongs to; when that is lost, agents that "
        "may move start elsewhere, and the others wait for it, or for a person who knows that they are dead.",
        {
            "machines/nodes/test_nodes.py": [
                "test_an_agent_runs_on_the_node_that_it_belongs_to",
                "test_a_lost_node_loses_who_may_move_and_keeps_who_stays",
                "test_a_node_that_is_back_goes_on_with_who_stayed",
                "test_a_node_that_stops_hands_over_who_may_move_and_the_others_wait_for_it",
                "test_only_a_person_can_say_that_a_process_on_a_lost_node_is_dead",
            ],
            "acceptance/claude/test_three_nodes.py": [
                "test_agents_on_three_machines_speak_in_turn_and_one_outlives_its_machine_with_its_soul",
            ],
            "guides/test_nodes.py": [
                "test_the_unit_of_a_node_is_valid_for_systemd",
                "test_a_container_begins_a_team_only_if_it_may_and_joins_one_that_is_there",
            ],
            "http/nodes/test_elsewhere.py": [
                "test_output_folders_and_files_of_another_machine_are_read_there_until_it_is_away",
                "test_another_machine_checks_who_may_read",
                "test_files_of_a_conversation_are_read_where_its_session_is_as_the_reader_who_asks",
            ],
            "store/test_requests.py": [
                "test_requests_of_a_node_are_answered_by_another_one_and_leave_nothing",
                "test_a_request_that_nobody_answers_ends_and_leaves_nothing",
            ],
            "web/test_nodes.py": [
                "test_an_agent_is_moved_in_the_page_and_off_a_dead_machine_at_a_second_word",
                "test_the_page_of_an_agent_moves_it_and_no_line_is_wider_than_a_phone",
                "test_a_team_on_one_machine_has_no_line_of_machines_and_nowhere_to_move",
            ],
            "simulation/test_several.py": [
                "test_no_seat_has_two_processes_whatever_happens_to_its_machines",
                "test_a_warden_that_does_not_kill_is_found",
                "test_a_runtime_that_does_not_ask_in_the_last_moment_is_found",
                "test_machines_that_give_up_others_too_early_are_found",
            ],
        },
    ),
    Promise(
        "Where several processes write to one log, each command is carried out once, in one order for all, and "
        "no refusal rests on an old state.",
        {
            "store/test_several_writers.py": [
                "test_commands_of_several_writers_are_carried_out_once_and_in_one_order",
                "test_a_writer_is_not_refused_what_another_was_just_promised",
                "test_a_refusal_is_forgotten_if_the_other_writers_events_allow_the_command",
            ],
            "engine/test_dispatcher.py": ["test_events_that_others_wrote_to_the_log_are_folded"],
            "store/test_postgres.py": [
                "test_commands_of_several_processes_are_carried_out_once_and_in_one_order",
                "test_a_process_is_not_refused_what_another_was_just_promised",
                "test_no_writer_is_kept_from_writing_by_another",
                "test_a_commit_is_heard_by_the_others_at_once",
            ],
        },
    ),
    Promise(
        "A log in PostgreSQL loses nothing that was answered, whatever becomes of the server or the network, and every "
        "error about it is true.",
        {
            "store/test_postgres_faults.py": [
                "test_nothing_is_lost_if_the_server_is_killed_with_writers",
                "test_nothing_is_lost_if_connections_are_terminated_at_random",
                "test_commits_whose_answers_got_lost_are_found_in_the_log",
                "test_a_silent_server_leaves_a_commit_in_doubt_and_a_lost_question_too",
                "test_an_older_copy_of_the_database_is_noticed_by_every_writer",
                "test_a_process_that_is_frozen_or_killed_keeps_no_other_from_writing",
                "test_nothing_is_lost_if_the_server_restarts_or_one_of_its_processes_is_killed",
                "test_connections_that_are_used_up_are_named_and_waited_for",
            ],
            "store/test_silence.py": [
                "test_commands_are_answered_when_a_silent_network_is_back",
                "test_a_transaction_without_an_answer_is_given_up_in_time",
                "test_machines_whose_network_falls_silent_are_told_the_truth",
            ],
            "testing/test_scale.py": [
                "test_a_simulation_counts_events_waits_and_bytes_for_each_number_of_teams",
            ],
            "store/test_failover.py": [
                "test_nothing_is_lost_by_a_failover_to_a_synchronous_standby",
                "test_every_writer_notices_what_a_failover_to_an_asynchronous_standby_lost",
            ],
        },
    ),
    Promise(
        "A team whose log is in PostgreSQL is started, read and restarted as one with a log in a file, and the "
        "password of the database is never shown.",
        {
            "cli/run/test_database.py": [
                "test_a_team_lives_in_a_database_and_goes_on_after_a_restart",
                "test_verbs_without_a_server_read_the_database",
                "test_the_option_names_the_database_once",
                "test_a_home_with_a_log_of_its_own_is_not_led_elsewhere",
                "test_a_team_goes_on_when_its_database_is_back",
                "test_a_muster_that_is_killed_goes_on_where_the_database_is",
                "test_a_database_that_was_set_back_ends_the_team",
            ],
            "cli/setup/checks/test_database.py": [
                "test_a_real_server_is_described",
                "test_what_is_amiss_is_named_with_its_remedy",
            ],
            "engine/clocks/test_shared.py": [
                "test_time_is_the_databases_from_the_start",
                "test_a_jump_of_the_databases_clock_is_followed_slowly",
            ],
            "home/test_database.py": [
                "test_a_password_is_never_shown",
                "test_variables_of_postgresql_become_part_of_the_address",
            ],
            "store/test_opening.py": [
                "test_a_log_is_read_as_it_was_written",
                "test_without_the_driver_the_install_line_is_named",
            ],
        },
    ),
    Promise(
        "A log moves into a database and back with the same bytes, and a move that is killed leaves nothing half-done.",
        {
            "store/test_moving.py": [
                "test_a_log_moves_there_and_back_with_the_same_bytes",
                "test_an_old_log_without_a_hash_chain_moves_as_it_is",
                "test_the_name_of_a_team_that_is_used_is_refused",
                "test_a_team_that_runs_is_not_moved",
                "test_a_move_that_is_killed_leaves_nothing",
                "test_a_copy_that_was_not_taken_into_use_is_replaced",
                "test_a_way_back_that_was_cut_off_at_its_end_is_finished",
                "test_a_team_in_a_database_is_backed_up_and_restored",
            ],
        },
    ),
    Promise(
        "Concurrent commands share a commit and keep their order.",
        {
            "engine/test_dispatcher.py": [
                "test_commands_that_arrive_together_are_committed_together_and_in_order",
            ],
            "store/test_conformance.py": [
                "test_calls_that_arrive_together_keep_the_order_of_arrival",
            ],
            "store/test_writer.py": [
                "test_calls_during_a_commit_share_the_next_commit",
            ],
        },
    ),
    Promise(
        "A failed commit is rolled back for every caller.",
        {
            "engine/test_dispatcher.py": [
                "test_a_failed_commit_rolls_the_head_back_to_the_committed_state",
            ],
            "store/test_conformance.py": [
                "test_a_failed_commit_fails_all_pending_calls_and_the_next_commit_works",
            ],
            "store/test_damage.py": [
                "test_a_full_disk_refuses_new_events_and_keeps_the_acknowledged_ones",
            ],
        },
    ),
    Promise(
        "A person is told where they are of what needs them: once, also over restarts.",
        {
            "notify/test_notifier.py": [
                "test_a_need_is_told_once_also_after_a_restart",
                "test_a_need_that_is_answered_at_once_is_not_told",
                "test_a_target_that_fails_is_retried_said_once_and_holds_up_no_other",
                "test_nobody_is_told_in_quiet_hours_and_all_is_told_at_their_end",
                "test_every_kind_of_need_belongs_to_a_topic",
            ],
            "notify/test_targets.py": [
                "test_a_webhook_receives_json_with_a_signature",
                "test_links_lead_to_the_public_address",
                "test_a_mail_server_receives_a_message",
            ],
            "settings/test_notify.py": ["test_a_target_is_read"],
        },
    ),
    Promise(
        "A browser is notified while its page is closed, and answers there; the address of its "
        "push service never leads into the network.",
        {
            "notify/push/test_encryption.py": [
                "test_the_example_of_the_standard_is_encrypted_alike",
                "test_a_browser_reads_messages_of_every_length_and_none_is_too_long_for_a_push_service",
            ],
            "notify/push/test_endpoints.py": [
                "test_no_private_address_counts_as_public",
                "test_a_name_that_leads_inside_by_one_of_its_addresses_is_refused",
                "test_any_other_address_is_refused",
            ],
            "notify/push/test_desk.py": [
                "test_a_message_arrives_signed_and_readable_by_the_browser_alone",
                "test_what_is_not_shown_whole_cannot_be_allowed_there_and_viewers_answer_nothing",
                "test_the_key_is_kept_for_its_owner_alone",
                "test_a_push_service_over_tls_must_prove_its_name",
            ],
            "http/routes/people/test_push.py": [
                "test_a_browser_is_told_once_until_it_signs_out",
                "test_a_subscription_that_its_push_service_ended_is_forgotten",
                "test_the_next_person_at_a_browser_takes_over_its_address",
                "test_a_member_is_not_told_of_a_private_channel",
            ],
            "web/test_push.py": [
                "test_a_notification_allows_what_it_shows_whole_after_the_page_is_left",
                "test_a_press_that_the_server_refuses_says_why_and_signing_out_ends_all",
                "test_choices_are_kept_on_the_server_and_can_be_turned_off",
            ],
        },
    ),
    Promise(
        "Metrics, health and readiness tell what the team and its log do.",
        {
            "http/routes/test_metrics.py": [
                "test_metrics_count_agents_turns_costs_and_commits",
                "test_an_agent_that_reports_its_cost_alone_is_counted",
                "test_the_dashboard_for_grafana_asks_for_metrics_that_exist",
                "test_a_server_whose_log_cannot_be_written_is_not_ready_and_says_so",
            ],
            "engine/test_watchdog.py": ["test_the_lag_of_the_loop_is_counted"],
        },
    ),
    Promise(
        "A changed, inserted or removed event is evident: the log is a hash chain.",
        {
            "store/test_copying.py": ["test_a_log_is_copied_while_it_is_open"],
            "machines/turns/test_speech.py": [
                "test_a_further_line_of_a_message_cannot_pass_for_another_speakers"
            ],
            "cli/run/test_up.py": ["test_a_home_whose_log_is_gone_begins_no_new_team"],
            "store/test_verifying.py": [
                "test_an_event_rewritten_with_its_checksum_breaks_the_chain",
                "test_a_flipped_byte_a_lost_event_and_a_lost_run_of_events_are_listed",
                "test_a_log_from_before_the_chain_is_verified_and_continued",
            ],
            "cli/look/test_backup.py": [
                "test_the_head_of_a_backup_is_found_in_the_log_later",
                "test_a_rewritten_event_is_found_by_the_chain_and_by_an_old_head",
            ],
        },
    ),
    Promise(
        "A team is backed up while it runs, and restored whole or not at all.",
        {
            "backup/test_backup.py": [
                "test_a_backup_under_writes_is_the_log_of_one_commit",
                "test_a_restored_home_has_the_log_the_settings_and_the_files",
                "test_a_truncated_backup_is_refused_and_leaves_nothing",
                "test_a_name_that_leaves_the_home_is_refused",
            ],
            "cli/look/test_backup.py": [
                "test_a_backup_is_restored_elsewhere_and_contains_the_same_team",
            ],
            "cli/test_progress.py": ["test_progress_is_one_line_on_a_terminal_and_is_removed"],
            "machines/test_tokens.py": ["test_a_restored_log_has_no_valid_token"],
        },
    ),
    Promise(
        "A damaged log, or one of a newer muster, is refused and left unchanged.",
        {
            "store/test_damage.py": [
                "test_a_log_of_a_newer_muster_is_refused",
                "test_a_flipped_bit_anywhere_is_found_or_harmless",
                "test_a_truncated_file_is_refused",
                "test_a_foreign_database_is_refused",
            ],
            "store/test_codec.py": ["test_an_event_of_an_unknown_type_is_from_a_newer_muster"],
            "store/test_migrate.py": ["test_a_log_that_has_seen_a_later_migration_is_refused"],
        },
    ),
    Promise(
        "One home has one muster; a killed one does not lock it for ever.",
        {
            "home/test_folder.py": [
                "test_a_home_of_another_user_is_refused_by_every_way_to_it",
            ],
            "home/test_lock.py": [
                "test_a_home_can_be_locked_once",
                "test_the_kernel_releases_the_home_of_a_killed_holder",
            ],
            "home/test_operator_token.py": [
                "test_a_content_that_no_request_can_carry_is_no_token",
            ],
            "test_app.py": ["test_a_home_belongs_to_one_muster_at_a_time"],
            "cli/run/test_up.py": ["test_a_second_muster_in_the_same_home_is_refused"],
        },
    ),
    Promise(
        "Logs of earlier releases can be read.",
        {
            "store/test_golden.py": [
                "test_a_golden_log_is_read_in_order",
                "test_the_newest_golden_log_has_every_kind_of_event",
            ],
            "store/test_codec.py": ["test_an_old_version_is_upcast_step_by_step"],
            "store/test_migrate.py": [
                "test_migrating_step_by_step_and_creating_anew_give_the_same_schema",
            ],
        },
    ),
    Promise(
        "Every event names its cause, and the whole chain can be explained.",
        {
            "machines/kernel/test_parts.py": ["test_every_fact_is_a_sentence"],
            "machines/kernel/test_whole_team.py": ["TestWholeTeam"],
            "cli/look/test_reading.py": [
                "test_why_follows_an_event_to_its_cause",
                "test_why_tells_of_an_agent_how_each_of_its_states_came_about",
            ],
            "views/test_why.py": ["test_a_log_file_and_a_store_explain_alike"],
            "http/routes/people/test_approvals.py": [
                "test_why_explains_a_request_its_answer_and_the_channel_that_waits_for_it"
            ],
        },
    ),
)

SERVICES = (
    Promise(
        "A deadline that passed while muster was down is handled at its start.",
        {
            "engine/test_timers.py": [
                "test_a_turn_that_timed_out_while_muster_was_down_is_timed_out_at_boot",
            ],
            "test_app.py": [
                "test_a_turn_that_timed_out_while_muster_was_down_is_timed_out_at_boot",
            ],
        },
    ),
    Promise(
        "Every view of a channel shows the deadline that the scheduler uses.",
        {
            "views/test_due.py": [
                "test_the_scheduler_and_every_view_agree_on_when_a_channel_moves_on",
                "test_an_approval_stops_the_clock_of_a_turn",
                "test_work_that_is_being_stopped_is_waited_for_before_any_turn",
            ],
        },
    ),
    Promise(
        "An edit of a state file while muster is away is obeyed, wherever muster was killed.",
        {
            "mirrors/state_file/test_memory.py": [
                "test_an_edit_while_muster_is_away_is_obeyed_at_the_next_start",
                "test_a_kill_at_any_step_loses_no_decision",
                "test_a_lost_memory_never_runs_a_paused_agent",
            ],
        },
    ),
    Promise(
        "One state file has one master.",
        {
            "mirrors/state_file/test_lock.py": [
                "test_the_agent_of_a_file_that_another_muster_follows_is_paused_with_the_holders_name",
                "test_an_agent_whose_lock_cannot_be_taken_is_paused_until_it_can_be",
                "test_a_lock_that_is_removed_under_muster_is_taken_again",
                "test_a_link_to_the_file_of_another_agent_pauses_only_the_agent_with_the_link",
                "test_a_link_into_the_home_is_not_followed_even_if_it_was_there_first",
                "test_a_link_in_place_of_a_folder_is_not_followed_even_after_a_restart",
            ],
            "mirrors/state_file/test_files.py": [
                "test_two_programs_that_correct_each_other_do_not_go_on_for_ever",
            ],
            "settings/test_state_files.py": [
                "test_two_agents_with_one_state_file_are_refused_with_the_line",
                "test_a_file_of_musters_own_is_refused_with_the_line",
                "test_a_link_that_an_agent_can_make_is_no_mistake_of_the_settings",
            ],
        },
    ),
    Promise(
        "A wall clock that is set, or a suspended machine, makes no deadline early or late.",
        {
            "engine/test_timers.py": [
                "test_a_wall_clock_that_is_set_makes_no_deadline_early_or_late",
                "test_a_suspended_machine_takes_no_time_from_a_turn",
            ],
            "engine/test_team_clock.py": [
                "test_the_teams_clock_follows_a_wall_clock_that_is_set_ahead",
                "test_the_teams_clock_does_not_follow_a_wall_clock_that_is_set_back",
                "test_a_clock_set_back_while_muster_was_down_sets_deadlines_back",
            ],
            "machines/kernel/test_clock.py": [
                "test_a_young_session_is_not_ended_because_the_clock_was_set",
                "test_a_retry_waits_no_longer_because_the_clock_was_set",
                "test_people_and_the_hour_go_on_while_the_machine_is_suspended",
            ],
        },
    ),
    Promise(
        "Every subscriber gets each event once and in order; a slow one does not delay others.",
        {
            "engine/test_feed.py": [
                "test_a_subscriber_sees_every_event_from_its_cursor_on_as_it_is_committed",
                "test_a_slow_subscriber_catches_up_from_the_store_with_no_gap_and_no_repeat",
                "test_recent_events_in_memory_are_bounded_in_number_and_in_bytes",
            ],
        },
    ),
    Promise(
        "A reactor resumes from its cursor, and handling an event twice is idempotent.",
        {
            "engine/test_reactors.py": [
                "test_a_reactor_resumes_from_its_cursor_after_a_restart",
                "test_a_reactor_killed_between_react_and_cursor_sees_the_event_again",
            ],
            "sessions/test_reactor.py": [
                "test_a_requested_session_is_started_once_and_reported",
            ],
            "simulation/test_world.py": ["test_no_invariant_breaks_in_a_simulated_team"],
        },
    ),
    Promise(
        "Processes left by an earlier boot of muster are ended before new ones start.",
        {
            "sessions/test_reactor.py": [
                "test_a_session_of_an_earlier_boot_is_reclaimed_and_reported_lost_once",
                "test_a_session_that_an_earlier_boot_never_started_is_not_started",
            ],
            "test_app.py": ["test_what_a_crash_left_behind_is_reclaimed_and_started_again"],
            "machines/run_control/test_run_control.py": [
                "test_an_agent_whose_session_was_lost_is_started_again_after_a_restart",
            ],
        },
    ),
    Promise(
        "muster stops cleanly, whatever stops it, and the failure of one part does not spread.",
        {
            "test_app.py": [
                "test_a_cancellation_cannot_skip_the_end",
                "test_a_service_that_fails_ends_the_team_in_order_and_is_told",
                "test_sessions_run_while_muster_runs_and_end_in_order_with_it",
            ],
            "engine/test_tasks.py": [
                "test_shielded_work_ends_before_a_cancellation_is_raised",
                "test_shielded_work_that_fails_does_not_swallow_a_cancellation",
            ],
            "machines/run_control/test_run_control.py": [
                "test_no_session_starts_while_muster_shuts_down"
            ],
            "cli/run/test_up.py": ["test_a_signal_ends_it_in_order"],
        },
    ),
)

MCP = (
    Promise(
        "Any program that speaks MCP has the team's tools, as the caller that its token names.",
        {
            "mcp/test_tools.py": [
                "test_each_role_is_told_of_the_tools_that_it_may_use",
                "test_a_tool_of_another_role_does_not_exist",
                "test_an_agent_takes_its_turn_speaks_and_ends_it",
                "test_an_operator_starts_and_stops_agents",
                "test_a_member_leads_the_team_under_their_own_name",
                "test_an_agent_asks_for_approval_and_is_told_the_answer",
            ],
            "bench/test_mcp.py": [
                "test_a_tool_of_muster_is_measured_against_the_same_tool_of_a_bare_server",
            ],
            "bench/test_sessions.py": [
                "test_the_share_of_muster_is_measured_for_each_runtime",
                "test_a_program_counts_with_all_that_it_has_started",
            ],
            "mcp/test_resources.py": [
                "test_the_team_its_channels_and_transcripts_are_resources",
            ],
            "acceptance/claude/test_mcp.py": [
                "test_claude_code_takes_its_turn_as_an_agent_of_the_team",
                "test_claude_code_leads_the_team_over_http",
            ],
            "mcp/test_stdio.py": [
                "test_a_token_makes_the_program_that_agent_which_leaves_with_it",
                "test_a_turn_is_kept_while_a_model_thinks",
            ],
        },
    ),
    Promise(
        "`muster mcp install` changes one entry of a program's settings, and only if it may.",
        {
            "cli/setup/test_mcp.py": [
                "test_an_entry_is_added_shown_and_removed_and_other_settings_stay",
                "test_the_settings_of_codex_keep_their_comments",
                "test_nothing_is_written_without_a_yes",
                "test_a_file_that_is_not_understood_is_left_alone",
                "test_a_program_that_is_set_up_for_an_agent_is_that_agent",
            ],
        },
    ),
    Promise(
        "A tool of MCP may do no more than a request over HTTP with the same token.",
        {
            "mcp/test_tools.py": [
                "test_an_agent_that_speaks_out_of_turn_is_refused",
                "test_a_private_channel_does_not_exist_for_others",
                "test_an_agent_whose_token_is_revoked_waits_no_longer",
            ],
            "http/mcp/test_answering.py": [
                "test_a_caller_without_a_token_or_with_a_wrong_one_is_refused",
                "test_a_foreign_origin_or_host_is_refused",
                "test_a_huge_body_is_refused",
            ],
        },
    ),
)

EDGES = (
    Promise(
        "A wrong setting is reported with its file, its line and a remedy.",
        {
            "settings/test_model.py": [
                "test_an_invalid_value_is_refused_with_its_line",
                "test_the_remedy_names_the_allowed_values",
                "test_an_unknown_key_is_refused_with_the_nearest_known_one",
            ],
            "cli/test_main.py": [
                "test_a_mistake_in_the_settings_names_file_line_and_remedy",
                "test_init_writes_a_file_that_changes_nothing",
            ],
        },
    ),
    Promise(
        "Reading verbs need no server, and change nothing.",
        {
            "store/test_reading.py": [
                "test_a_closed_log_is_read_when_no_server_runs",
                "test_a_log_is_read_while_a_server_writes_it",
            ],
            "cli/look/test_reading.py": ["test_reading_changes_nothing"],
            "tidy/test_layers.py": ["test_a_fast_verb_loads_no_event_loop_and_no_server"],
        },
    ),
    Promise(
        "Text of agents cannot control a terminal.",
        {
            "cli/look/test_reading.py": [
                "test_nothing_that_an_agent_wrote_reaches_the_terminal_as_a_command",
            ],
            "cli/test_render.py": [
                "test_escape_sequences_are_shown_instead_of_obeyed",
                "test_no_cell_can_bring_a_control_character_or_a_line_into_a_table",
            ],
        },
    ),
    Promise(
        "Text with bytes that are no UTF-8 is sent with U+FFFD for them; such a name is refused.",
        {
            "cli/test_texts.py": [
                "test_bytes_of_a_message_that_are_no_utf_8_are_replaced",
                "test_bytes_of_a_turn_s_text_that_are_no_utf_8_are_replaced",
                "test_utf_8_is_understood_in_every_locale",
                "test_a_name_that_is_no_utf_8_is_refused",
            ],
            "client/test_encoding.py": ["test_lone_surrogates_of_a_text_are_replaced"],
        },
    ),
    Promise(
        "A search finds every committed message with all of its words, whatever is typed.",
        {
            "store/test_words.py": [
                "test_a_text_is_cut_into_words_without_case_and_accents",
                "test_every_term_of_a_search_is_quoted_so_that_none_is_an_operator",
            ],
            "store/test_conformance.py": [
                "test_a_search_finds_every_committed_message_newest_first",
            ],
            "store/test_indexing.py": [
                "test_a_log_without_an_index_is_indexed_in_steps_when_it_is_opened",
                "test_a_damaged_index_fails_no_commit_and_is_rebuilt_at_the_next_start",
            ],
            "store/test_postgres_indexing.py": [
                "test_the_index_finds_what_reading_every_message_finds",
                "test_several_nodes_index_no_message_twice",
                "test_an_index_that_fails_fails_no_commit_and_no_search",
            ],
            "views/content/test_searching.py": [
                "test_a_snippet_marks_whole_words_as_they_were_written"
            ],
            "http/routes/content/test_search.py": ["test_whatever_is_typed_is_words"],
            "bench/test_search.py": ["test_a_measured_search_looks_through_every_message"],
        },
    ),
    Promise(
        "A message says to whom it went and what it did to the turn.",
        {
            "views/test_effects.py": ["test_a_message_says_what_it_does_to_the_turn"],
            "cli/act/test_channel_messages.py": ["test_send_says_what_happened_to_the_turn"],
        },
    ),
    Promise(
        "A reply shows the message that it answers, in the channel and in the agent's prompt.",
        {
            "http/routes/test_messages.py": ["test_a_reply_quotes_a_message_of_the_same_channel"],
            "views/test_prompt_lines.py": [
                "test_a_reply_a_repetition_a_notice_and_a_file_are_named",
            ],
        },
    ),
    Promise(
        "A request or a file that is no JSON is refused with words that help its author.",
        {"views/test_paper.py": ["test_what_is_no_json_is_told_in_words_that_help"]},
    ),
    Promise(
        "The program of an agent does not see the team's home, nor secrets that are not passed.",
        {
            "runtimes/test_isolated.py": [
                "test_a_program_sees_its_own_folders_of_the_home_and_nothing_else",
                "test_a_strict_program_reaches_the_allowed_ports_and_sees_its_own_processes",
                "test_nothing_that_a_strict_program_starts_outlives_it",
                "test_a_program_gets_no_secret_that_is_not_passed",
            ],
            "acceptance/claude/test_isolated.py": [
                "test_claude_code_works_isolated_and_its_tools_see_its_own_folder_of_the_home",
            ],
        },
    ),
    Promise(
        "A step that holds the event loop for more than 100 ms is reported with its place.",
        {
            "engine/test_slow_steps.py": [
                "test_a_step_that_works_too_long_is_reported_once_with_its_place",
                "test_a_step_that_only_waits_for_the_machine_is_not_reported",
            ],
        },
    ),
    Promise(
        "Old events go into compressed files that every reader still reads; a kill at any step "
        "loses nothing.",
        {
            "store/test_archive.py": [
                "test_readers_see_the_same_log_and_the_chain_is_whole",
                "test_a_kill_at_any_step_loses_nothing_and_the_next_run_goes_on",
                "test_a_file_that_is_changed_or_gone_is_noticed",
                "test_a_copy_and_a_move_have_the_whole_log",
            ],
            "cli/setup/test_archive.py": [
                "test_every_verb_tells_the_same_after_old_events_are_archived",
                "test_the_time_machine_of_a_running_server_reads_archived_events",
            ],
        },
    ),
    Promise(
        "The server's own log has levels, and can be JSON.",
        {
            "cli/run/test_server_log.py": [
                "test_every_request_is_a_record_at_the_level_debug",
                "test_the_file_in_the_background_has_the_same_format",
                "test_a_record_has_its_own_fields_and_its_traceback",
            ],
        },
    ),
    Promise(
        "Behind nginx and Caddy, with TLS, HTTP/2 and a path prefix, a browser does all that it "
        "does without them.",
        {
            "web/test_behind_proxies.py": [
                "test_a_person_signs_in_looks_acts_and_signs_out_through_a_proxy",
                "test_events_reach_a_program_through_a_proxy_as_they_happen",
                "test_a_proxy_leads_to_the_dashboard_from_the_prefix_without_a_slash",
                "test_nginx_signs_people_in_and_muster_knows_their_names",
            ],
            "http/test_oidc.py": [
                "test_a_person_signs_in_at_the_provider_and_acts_under_their_name",
                "test_a_sign_in_belongs_to_the_browser_that_began_it_and_counts_once",
                "test_what_the_provider_says_is_checked",
                "test_a_token_of_another_key_is_refused",
            ],
            "web/test_single_sign_on.py": [
                "test_a_person_signs_in_by_single_sign_on_and_out_again",
            ],
            "http/test_trusted_header.py": [
                "test_a_person_acts_under_the_name_that_the_proxy_gives",
                "test_the_header_from_elsewhere_is_refused_and_a_token_counts_before_it",
                "test_a_page_of_another_site_cannot_act_through_the_proxy",
                "test_a_header_that_anybody_could_send_is_refused_at_the_start",
            ],
            "http/test_auth.py": [
                "test_a_path_prefix_is_a_part_of_links_and_cookies_and_may_come_with_requests",
            ],
        },
    ),
    Promise(
        "With a certificate people use TLS, and programs of the machine a port of their own.",
        {
            "web/test_tls.py": [
                "test_people_use_tls_and_programs_of_the_machine_a_port_of_their_own",
                "test_a_certificate_that_cannot_be_used_is_said_before_anything_is_made",
            ],
        },
    ),
    Promise(
        "A disk that is nearly full is said, and large writes are refused until it has room again.",
        {
            "http/test_disk_space.py": [
                "test_the_reserve_of_a_small_disk_is_a_part_of_it",
                "test_what_is_small_is_taken_and_what_is_large_leaves_the_reserve",
                "test_a_full_disk_is_said_and_refused_before_the_log_fails_and_muster_recovers",
            ],
            "web/test_disk.py": ["test_a_low_disk_is_shown_until_it_has_room_again"],
        },
    ),
    Promise(
        "A commit that the disk did not confirm is told as unknown, not as refused.",
        {
            "store/test_unsynced.py": [
                "test_a_commit_that_the_disk_did_not_confirm_is_in_doubt",
            ],
        },
    ),
    Promise(
        "With an open umask, nobody else can change what muster makes, or read a home.",
        {
            "cli/run/test_private_files.py": [
                "test_no_file_of_a_home_is_open_to_others_with_an_open_umask",
                "test_nobody_else_can_change_the_folder_of_a_session_with_an_open_umask",
            ],
        },
    ),
    Promise(
        "No GET acts: reading adds no event to the log, whoever reads.",
        {
            "http/test_reads.py": [
                "test_no_read_adds_an_event_to_the_log",
                "test_the_next_work_is_no_get_and_the_answer_names_the_method",
            ],
        },
    ),
    Promise(
        "Refused requests are on record by who tried, as one warning a minute.",
        {
            "http/test_refusals.py": [
                "test_refused_requests_are_one_warning_a_minute_by_who_tried",
                "test_a_request_with_a_wrong_token_is_counted",
            ],
        },
    ),
    Promise(
        "No line of somebody's message can pass for that of a person, another agent or muster.",
        {
            "views/test_prompt_lines.py": [
                "test_no_line_of_a_message_can_pass_for_that_of_another_speaker",
            ],
            "sessions/test_frames.py": [
                "test_a_hostile_text_adds_no_line_to_the_first_column",
                "test_no_text_ends_its_element_or_begins_a_line_like_a_message",
                "test_words_of_an_agent_are_never_on_record_as_a_persons",
            ],
        },
    ),
    Promise(
        "An attached file is private, and is served to its readers so that no browser runs it.",
        {
            "test_attachments.py": ["test_nothing_is_read_or_written_through_a_link"],
            "http/routes/content/test_files.py": [
                "test_a_file_is_served_so_that_no_browser_runs_it",
                "test_a_file_that_no_message_names_is_not_served",
                "test_nobody_attaches_the_upload_of_another",
            ],
        },
    ),
    Promise(
        "In the export of a channel no message can pass as that of another speaker.",
        {
            "views/content/test_exporting.py": [
                "test_a_message_cannot_forge_another_speakers_heading"
            ],
            "http/routes/content/test_exports.py": [
                "test_a_channel_in_markdown_cannot_be_forged_by_a_message",
            ],
        },
    ),
    Promise(
        "Errors go to standard error, with documented exit codes.",
        {
            "cli/test_main.py": [
                "test_a_wrong_call_is_explained_on_standard_error_with_code_2",
                "test_every_exit_code_is_documented",
            ],
            "tidy/test_docs.py": ["test_every_error_code_is_described"],
        },
    ),
    Promise(
        "`muster up` answers at its address once it is printed, and loses nothing when killed.",
        {
            "cli/run/test_up.py": [
                "test_when_the_address_is_printed_health_is_answered",
                "test_one_that_was_killed_starts_again_and_loses_nothing",
            ],
        },
    ),
    Promise(
        "While the log cannot be written, agents can be stopped, and everything goes on afterwards.",
        {
            "sessions/test_unlogged_stops.py": [
                "test_an_agent_is_stopped_while_the_log_is_full_and_its_pause_recorded_later",
                "test_a_second_stop_while_the_log_is_full_stops_now",
                "test_a_newer_desired_state_wins_over_a_pause_that_is_not_recorded_yet",
                "test_a_start_that_cannot_be_recorded_is_only_refused",
            ],
        },
    ),
    Promise(
        "Paused means paused: nothing starts a paused agent, not even a restart or a kill of muster.",
        {
            "stress/test_paused.py": ["test_nothing_starts_an_agent_that_is_paused"],
            "sessions/test_reactor.py": [
                "test_a_pause_while_the_first_prompt_is_written_keeps_the_program_from_starting",
            ],
            "machines/run_control/test_supervision.py": [
                "test_an_agent_paused_in_its_file_between_two_sessions_is_idle_after_the_start",
            ],
        },
    ),
    Promise(
        "An acknowledged message is in the log once and delivered once, even across kills.",
        {
            "stress/test_soak.py": [
                "test_no_message_is_lost_or_duplicated_while_agents_and_muster_are_killed",
                "test_a_message_delivered_as_new_twice_is_found",
            ],
        },
    ),
    Promise(
        "A figure in the docs is a ratio of two sides that were measured alternately in one run.",
        {
            "bench/test_lines.py": [
                "test_ratios_are_taken_within_a_round",
                "test_sides_are_measured_alternately_in_alternating_order",
                "test_one_lucky_round_does_not_make_a_pass",
            ],
            "bench/test_report.py": ["test_the_environment_of_a_run_names_no_machine_and_no_path"],
            "bench/test_children.py": ["test_the_simulated_load_breaks_no_invariant"],
            "bench/test_over_http.py": ["test_a_measured_turn_is_in_the_log"],
            "bench/test_trust.py": [
                "test_a_log_is_verified_and_backed_up_under_load_and_metrics_are_scraped"
            ],
        },
    ),
    Promise(
        "The simulation finds a broken rule, and prints the command to reproduce it.",
        {
            "simulation/test_world.py": [
                "test_a_broken_rule_is_found_and_the_command_to_reproduce_it_is_printed",
                "test_the_same_random_seed_gives_the_same_log",
            ],
            "testing/test_fakes.py": ["test_callbacks_run_in_order_each_at_its_own_time"],
        },
    ),
)

TALKING = (
    Promise(
        "Every row of the turn-taking table and its six edge cases happen over HTTP.",
        {
            "acceptance/test_turns_over_http.py": [
                "test_every_row_of_the_transition_table_happens_over_http",
                "test_the_rows_that_happen_over_http_are_the_whole_transition_table",
                "test_an_agent_that_falls_silent_mid_turn_is_offline_and_the_next_goes_on",
                "test_a_turn_that_times_out_is_announced_and_its_holder_keeps_its_place",
                "test_in_queue_mode_a_human_is_heard_after_the_turn",
                "test_in_interrupt_mode_the_turn_stands_still_until_the_human_lets_go",
                "test_in_inject_mode_the_active_agent_hears_a_human_at_once",
                "test_in_parallel_mode_everybody_hears_a_human_at_once",
                "test_an_agent_that_forgets_to_signal_loses_its_turn_with_a_warning",
                "test_when_all_are_gone_messages_wait_for_the_first_who_comes_back",
                "test_an_added_member_comes_last_and_a_removed_one_leaves_the_others_in_order",
            ],
        },
    ),
    Promise(
        "An agent that polls gets its turn, and every message exactly once.",
        {
            "inbox/test_inbox.py": [
                "test_the_holder_gets_its_turn_with_the_epoch_and_all_messages",
                "test_concurrent_requests_of_one_agent_never_get_the_same_message_as_new",
                "test_after_a_lost_answer_the_turn_comes_again_with_delivered_messages_marked",
            ],
            "http/routes/test_work.py": [
                "test_an_agent_that_waits_is_told_its_turn_when_it_comes",
                "test_messages_are_handed_over_once_however_many_ask",
                "test_an_asker_that_is_gone_is_handed_nothing",
                "test_a_server_that_ends_answers_every_long_poll",
            ],
        },
    ),
    Promise(
        "Only the holder acts on a turn, with its own token and the epoch of that turn.",
        {
            "http/routes/test_turns.py": [
                "test_an_agent_without_the_turn_is_refused_with_its_state",
                "test_an_agent_cannot_act_for_another",
                "test_a_request_with_a_stale_epoch_is_refused_and_logged",
            ],
            "http/routes/test_channels.py": [
                "test_an_agent_joins_and_leaves_as_itself_and_as_nobody_else",
            ],
        },
    ),
    Promise(
        "Posting is idempotent, and the delivery to each member can be traced.",
        {
            "views/test_channels.py": [
                "test_a_message_is_accepted_then_delivered_then_read_by_each_but_its_speaker",
            ],
            "http/routes/test_messages.py": [
                "test_a_retry_with_the_same_idempotency_key_is_sent_once",
                "test_a_message_is_followed_to_each_member",
            ],
            "http/routes/test_turns.py": [
                "test_a_last_word_that_is_sent_twice_is_said_once_and_ends_nobody_elses_turn",
            ],
        },
    ),
)

WHO_MAY = (
    Promise(
        "Behind a proxy muster goes by its public address; without TLS it warns.",
        {
            "http/test_auth.py": [
                "test_behind_a_proxy_the_public_address_counts_and_its_cookies_are_secure",
                "test_a_public_address_is_a_scheme_a_host_and_a_prefix_of_its_own",
                "test_a_server_that_others_reach_without_tls_is_exposed",
                "test_a_server_on_all_interfaces_warns_and_prints_a_link_that_a_browser_reaches",
            ],
        },
    ),
    Promise(
        "No token and no stranger takes all memory, disk, connections or descriptors.",
        {
            "http/test_auth.py": [
                "test_a_token_has_a_quota_of_bytes_and_writes_a_minute",
                "test_an_agent_that_sends_too_much_is_told_to_wait_and_the_operator_is_not",
                "test_the_body_of_a_request_without_a_token_is_small",
            ],
            "http/test_protocol.py": [
                "test_a_head_that_does_not_arrive_in_time_ends_its_connection",
                "test_a_body_that_does_not_arrive_in_time_ends_its_connection",
                "test_a_connection_too_many_is_told_so",
            ],
        },
    ),
    Promise(
        "People act under names of their own, with the rights of their roles, by tokens that can "
        "expire and be rotated.",
        {
            "machines/access/test_users.py": [
                "test_a_user_has_a_role_that_can_be_changed_and_a_name_of_their_own",
                "test_no_agent_takes_the_name_of_a_user",
                "test_a_token_grants_what_its_role_and_its_user_both_permit",
                "test_roles_of_people_are_ordered",
                "test_a_user_who_is_removed_has_no_tokens",
                "test_a_rotated_token_keeps_everything_but_its_secret",
                "test_a_token_expires_by_a_deadline_that_revokes_it",
            ],
            "machines/access/test_scopes.py": [
                "test_a_scope_permits_acts_on_what_it_names_and_on_nothing_else",
                "test_a_token_grants_what_its_scope_and_its_users_both_permit",
            ],
            "web/test_two_people.py": [
                "test_a_member_with_a_scope_is_offered_what_works",
                "test_people_see_who_else_has_the_page_open",
                "test_a_member_stops_an_agent_under_their_own_name_and_a_viewer_sees_it",
            ],
            "http/routes/test_users.py": [
                "test_a_member_with_a_scope_acts_on_nothing_outside_of_it",
                "test_a_user_whose_scope_names_a_private_channel_reads_it",
                "test_the_routes_for_members_are_those_that_are_listed",
                "test_every_route_is_for_the_roles_that_it_names",
                "test_everybody_acts_under_their_own_name",
                "test_a_role_that_changes_counts_at_once",
                "test_a_token_of_a_user_grants_no_more_than_the_user_may",
                "test_a_rotated_token_has_one_secret",
            ],
        },
    ),
    Promise(
        "A home that came with a repository runs nothing before its user has approved it.",
        {
            "cli/run/test_trusting.py": [
                "test_a_cloned_home_runs_nothing_until_it_is_trusted",
                "test_another_clone_in_the_same_place_is_another_home",
                "test_a_home_that_git_does_not_track_is_the_users_own",
                "test_a_repository_that_git_cannot_read_is_not_trusted",
                "test_an_approval_that_cannot_be_kept_counts_once",
            ],
        },
    ),
    Promise(
        "Hostile text, paths and readers cost the server no time that others would wait for.",
        {
            "views/test_markdown.py": [
                "test_brackets_that_begin_no_link_take_no_time",
                "test_texts_that_are_left_when_the_time_is_up_are_shown_without_rendering",
            ],
            "worker/test_deciding.py": [
                "test_a_call_is_judged_as_here_and_denied_when_its_time_is_up",
                "test_a_request_is_routed_as_here_and_refused_when_its_time_is_up",
            ],
            "permissions/test_judge.py": ["test_a_path_that_no_kernel_takes_is_denied_at_once"],
            "engine/test_feed.py": ["test_a_subscriber_that_leaves_takes_its_filter_along"],
        },
    ),
    Promise(
        "A page of another port reads nothing with the cookie, and private files are not shown.",
        {
            "http/test_auth.py": [
                "test_a_page_of_another_port_cannot_even_read_with_the_cookie",
            ],
            "http/routes/test_dialogues.py": [
                "test_private_files_are_shown_to_nobody_or_to_operators_alone",
            ],
            "delegation/folder/test_private_files.py": [
                "test_nothing_of_the_home_is_shown_but_outputs_that_lie_there",
            ],
        },
    ),
    Promise(
        "A caller without a valid token can do nothing, and each token only what its role permits.",
        {
            "http/test_auth.py": [
                "test_health_is_open_to_all_and_nothing_else_is",
                "test_a_wrong_token_is_refused",
                "test_an_agent_may_act_only_as_itself",
                "test_a_viewer_may_only_read",
                "test_the_operators_token_is_in_a_private_file_and_the_printed_link_signs_in_once",
            ],
            "web/test_viewer.py": [
                "test_a_viewer_is_offered_nothing_that_acts",
                "test_the_keys_of_a_viewer_change_nothing_and_are_not_listed",
            ],
            "http/routes/test_tokens.py": [
                "test_a_token_is_told_once_and_counts_until_it_is_revoked",
                "test_the_log_has_no_secret_in_it",
                "test_the_command_line_issues_lists_and_revokes",
                "test_the_command_line_adds_users_changes_their_roles_and_removes_them",
            ],
        },
    ),
    Promise(
        "A page of another site can do nothing in a team.",
        {
            "http/test_auth.py": [
                "test_a_browser_signs_in_by_a_cookie_that_pages_cannot_read",
                "test_a_token_is_no_cookie",
                "test_two_servers_on_one_host_do_not_sign_each_other_out",
                "test_a_restart_signs_no_browser_out_and_the_home_has_no_secret_of_it",
                "test_a_page_of_another_site_cannot_use_the_cookie",
                "test_a_page_of_another_site_cannot_use_a_token_either",
                "test_a_rebound_dns_name_is_refused",
            ],
        },
    ),
    Promise(
        "Bad input is answered with a problem document and changes nothing.",
        {
            "http/test_auth.py": [
                "test_an_invalid_request_is_refused",
                "test_a_body_that_is_too_large_is_refused_though_all_of_it_was_sent",
                "test_a_path_or_a_method_that_is_not_there_is_told_as_a_problem",
            ],
            "http/test_openapi.py": [
                "test_a_fuzzer_finds_no_answer_that_is_not_described",
            ],
        },
    ),
    Promise(
        "The server's API description, for programs and for people, is generated from its routes.",
        {
            "http/test_openapi.py": [
                "test_the_document_has_every_route_with_who_may_call_it",
                "test_the_page_has_every_route_and_every_error_and_no_scripts",
            ],
            "http/test_routing.py": [
                "test_a_route_has_its_types_from_the_signature_and_its_summary_from_the_docstring",
                "test_a_path_and_parameters_that_disagree_are_a_mistake",
            ],
        },
    ),
    Promise(
        "An agent whose heartbeat times out is OFFLINE, and its turn passes on.",
        {
            "http/routes/test_agents.py": [
                "test_one_that_is_silent_is_offline_its_turn_goes_on_and_its_late_words_are_refused",
                "test_a_heartbeat_keeps_an_agent_and_with_working_its_turn",
                "test_one_that_waits_for_something_to_do_needs_no_heartbeat",
                "test_one_that_dies_while_it_waits_is_soon_offline",
            ],
            "engine/test_presence.py": [
                "test_a_heartbeat_timeout_disconnects_the_agent_and_passes_its_turn_on",
                "test_after_a_restart_every_agent_has_the_full_timeout_and_a_call_confirms_it",
            ],
        },
    ),
)

CLIENTS = (
    Promise(
        "A server that has nothing to do uses no CPU time, and ends when it is told to.",
        {
            "http/test_server.py": [
                "test_a_server_ends_when_it_is_told_to_and_not_at_its_next_look",
            ],
        },
    ),
    Promise(
        "Only requests are signs of life, and a revoked token ends all that it opened.",
        {
            "http/test_liveness.py": [
                "test_an_open_event_stream_is_no_sign_of_life",
                "test_a_revoked_token_ends_its_stream_at_once",
                "test_a_revoked_token_ends_its_long_poll_at_once_and_its_agent_is_offline",
            ],
        },
    ),
    Promise(
        "An agent that connects by itself can be retired: its name is free, its history stays.",
        {
            "machines/identity/test_retiring.py": [
                "test_a_retired_agent_loses_its_turn_its_places_its_tokens_and_its_name",
                "test_another_agent_may_take_the_name_of_a_retired_one",
                "test_nothing_brings_a_retired_agent_back",
            ],
            "http/routes/test_agents.py": [
                "test_a_retired_agent_is_gone_from_lists_and_its_history_stays_readable",
            ],
        },
    ),
    Promise(
        "A changed muster.toml is taken up while muster runs; a mistake in it changes nothing.",
        {
            "acceptance/test_live_settings.py": [
                "test_an_agent_that_is_added_to_the_file_is_there_without_a_restart",
                "test_a_mistake_is_shown_with_its_line_and_the_old_settings_stay_until_it_is_corrected",
                "test_a_file_that_is_written_in_steps_causes_no_false_error_and_dismisses_nobody",
                "test_a_program_whose_agent_was_removed_while_muster_was_down_is_ended",
                "test_agents_are_added_changed_and_removed_by_the_command_line",
            ],
            "settings/test_writing.py": [
                "test_a_new_agent_is_appended_and_nothing_else_changes",
                "test_a_changed_setting_keeps_the_comments_around_it",
            ],
        },
    ),
    Promise(
        "From an empty folder to running agents of one's own in the dashboard alone.",
        {
            "web/test_agent_settings.py": [
                "test_from_an_empty_folder_to_two_running_agents_in_the_dashboard_alone",
                "test_an_agent_is_changed_renamed_and_removed_in_the_dashboard",
                "test_when_an_agent_runs_is_set_shown_and_changed_in_the_dialog",
                "test_an_open_quote_is_refused_with_its_place",
                "test_a_mistake_stands_beside_its_field",
                "test_a_mistake_in_the_file_is_a_banner_until_it_is_corrected",
            ],
        },
    ),
    Promise(
        "A loop that follows its state file is running as long as it writes, and unknown when it died.",
        {
            "machines/identity/test_loops.py": [
                "test_a_loop_that_writes_nothing_for_too_long_is_unknown_until_it_writes_again",
                "test_writes_renew_the_evidence_but_the_log_does_not_grow_with_each",
                "test_a_state_found_at_the_start_is_no_sign_of_life",
                "test_a_clock_that_jumps_does_not_age_the_evidence",
                "test_a_new_agent_has_the_evidence_of_its_author",
            ],
            "mirrors/state_file/test_files.py": [
                "test_every_write_of_a_loop_renews_the_evidence_that_it_lives",
            ],
        },
    ),
    Promise(
        "An agent is renamed, and taken out of the team and back into its seat, with its history.",
        {
            "machines/identity/test_membership.py": [
                "test_a_renamed_agent_keeps_its_seat_its_turn_its_channels_and_its_folder",
                "test_a_dismissed_agent_may_finish_its_session_and_is_retired_when_that_ends",
                "test_a_dismissed_agent_that_does_not_end_in_time_is_stopped_now",
                "test_an_agent_that_is_named_again_comes_back_to_its_seat_paused",
                "test_an_agent_that_is_named_again_has_no_failure_and_may_start_with_muster",
            ],
            "mirrors/test_roster.py": ["test_very_many_agents_come_and_go_in_a_few_commits"],
        },
    ),
    Promise(
        "The usage that an agent reports counts for the agent and for the limits of its channel.",
        {
            "machines/turns/test_usage.py": [
                "test_usage_counts_for_the_agent_and_for_the_channel_of_its_turn",
                "test_reported_usage_ends_a_conversation_at_the_limit_of_its_channel",
            ],
            "http/routes/test_agents.py": [
                "test_an_agent_reports_what_it_has_used_and_it_counts_for_the_limits_of_its_channel",
            ],
        },
    ),
    Promise(
        "A private channel exists only for its members and for operators, in every answer.",
        {
            "views/test_access.py": [
                "test_no_fact_about_an_insider_repeats_what_its_program_said",
                "test_the_state_of_an_insider_has_no_words_of_its_program",
            ],
            "http/test_private_channels.py": [
                "test_no_answer_tells_a_stranger_of_a_private_channel",
                "test_an_event_stream_has_a_private_channel_only_while_its_reader_is_a_member",
            ],
        },
    ),
    Promise(
        "A subscriber gets every event once and in order, from any `seq` on.",
        {
            "http/routes/test_events.py": [
                "test_a_stream_ends_when_its_token_is_revoked",
                "test_a_stream_ends_when_its_browser_signs_out",
                "test_a_stream_from_the_beginning_has_everything_once_and_in_order",
                "test_a_reader_that_connects_again_goes_on_where_it_was",
                "test_a_cursor_that_is_not_in_the_log_is_said_to_be_unknown",
                "test_a_browser_that_connects_again_goes_on_by_its_last_event_id",
            ],
            "client/test_client.py": [
                "test_a_follower_goes_on_where_it_was_when_the_server_is_back",
            ],
        },
    ),
    Promise(
        "A subscriber that does not read delays no other, and every stream ends with the server.",
        {
            "http/routes/test_events.py": [
                "test_a_reader_that_does_not_read_holds_up_nobody_and_loses_nothing",
                "test_a_stream_ends_when_its_reader_is_gone",
                "test_a_server_that_ends_ends_its_streams_in_order",
            ],
        },
    ),
    Promise(
        "The log can be read as transitions of turns alone, in their documented fields.",
        {
            "http/routes/test_events.py": [
                "test_the_log_of_turn_transitions_has_seven_fields_and_nothing_else"
            ],
        },
    ),
    Promise(
        "An agent is ten lines, survives restarts of the server, and posts nothing twice.",
        {
            "client/test_client.py": [
                "test_the_programs_of_the_guide_are_agents_that_talk",
                "test_agents_take_turns_and_each_hears_everything_once",
                "test_a_server_that_was_killed_is_waited_for_and_the_turn_goes_on",
                "test_work_on_a_turn_renews_it_by_itself",
            ],
        },
    ),
    Promise(
        "An agent hears what is said in its turn, and what it did not ask for in the next.",
        {
            "client/test_turn.py": [
                "test_a_turn_hears_what_is_said_while_it_lasts",
                "test_a_turn_on_an_event_loop_hears_it_too",
                "test_iterating_over_a_turn_gives_every_message_until_it_ends",
                "test_news_that_the_body_did_not_ask_for_comes_with_the_next_turn",
            ],
        },
    ),
    Promise(
        "A turn is handed messages of its channel and direct ones, each once over all turns.",
        {
            "client/test_turn_channels.py": [
                "test_a_turn_gets_no_news_of_another_channel_and_its_turn_there_gets_them_once",
                "test_a_question_is_answered_in_its_channel_only",
                "test_words_from_before_a_question_are_news_and_no_answer",
                "test_iterating_over_a_turn_gives_messages_of_its_channel",
            ],
            "inbox/test_inbox.py": [
                "test_work_on_a_turn_gets_no_message_and_no_turn_of_another_channel",
                "test_a_message_outside_a_turn_waits_for_the_turn_if_it_is_not_wanted_before",
            ],
            "sessions/test_messages_in_turn.py": [
                "test_words_of_another_channel_wait_until_the_turn_is_over",
            ],
            "cli/act/test_next.py": ["test_work_on_a_turn_is_told_nothing_of_other_channels"],
        },
    ),
    Promise(
        "An interruption, a lost turn and a removal never end the program of an agent.",
        {
            "client/test_turn.py": [
                "test_words_said_while_a_person_holds_the_turn_are_posted_at_the_release",
                "test_a_body_is_told_that_its_turn_was_taken_away_and_the_loop_goes_on",
                "test_the_body_of_a_lost_turn_is_cancelled_on_an_event_loop",
                "test_a_handler_is_cancelled_with_its_turn_and_called_with_the_next",
                "test_a_removed_agent_stays_out_until_a_person_adds_it",
                "test_an_agent_whose_token_was_revoked_stops_without_an_error",
            ],
        },
    ),
    Promise(
        "A client passes turns with nothing new for its agent, unless the agent wants them.",
        {
            "client/test_turn.py": [
                "test_a_turn_with_nothing_new_is_passed_for_the_agent",
                "test_an_agent_with_turns_of_its_own_accord_is_not_passed_over",
                "test_an_agent_that_a_person_chose_speaks_although_nothing_is_new",
            ],
        },
    ),
    Promise(
        "An agent can be a shell script: `muster next` tells it what to do, and when to stop.",
        {
            "cli/act/test_next.py": [
                "test_a_turn_is_printed_with_its_messages",
                "test_a_turn_with_nothing_new_is_passed",
                "test_an_agent_that_is_to_stop_is_told_by_the_exit_code",
                "test_a_turn_that_a_script_did_not_end_is_printed_again_after_a_pause",
            ],
            "cli/act/test_next_keeping.py": [
                "test_a_message_that_is_longer_than_an_argument_is_answered",
                "test_slow_work_keeps_its_turn_and_its_place",
                "test_slow_work_keeps_its_turn_behind_a_wrapper",
                "test_a_turn_of_a_script_that_was_killed_behind_a_wrapper_is_not_kept",
                "test_a_turn_of_a_script_that_was_killed_is_not_kept",
                "test_a_script_that_was_gone_has_its_place_again",
                "test_a_waiting_script_that_is_disconnected_connects_again_with_its_place",
                "test_a_script_that_a_person_removed_stays_out",
            ],
        },
    ),
    Promise(
        "A selector is told that it chooses and among whom, in the clients and in a shell.",
        {
            "client/test_choosing.py": [
                "test_a_program_that_waits_is_told_that_it_chooses_and_among_whom",
                "test_a_program_on_an_event_loop_is_told_so_too",
                "test_a_shell_script_is_told_so_too",
            ],
        },
    ),
    Promise(
        "The operator's token is sent to the server of its home only.",
        {
            "client/test_client.py": [
                "test_an_address_that_a_crash_left_behind_is_not_believed",
                "test_the_operator_s_token_is_shown_to_the_server_of_its_home_only",
            ],
        },
    ),
    Promise(
        "A person at a terminal opens channels, overrides turns, posts and watches.",
        {
            "cli/act/test_acting.py": [
                "test_a_channel_is_opened_with_rules_and_members",
                "test_a_turn_is_completed_passed_paused_and_resumed",
                "test_a_person_decides_whose_turn_it_is",
                "test_a_person_speaks_to_a_channel_to_an_agent_and_to_the_lead",
                "test_in_a_terminal_the_ring_the_turn_and_the_messages_are_shown",
                "test_where_no_server_runs_it_is_said_how_to_start_one",
            ],
        },
    ),
    Promise(
        "People and speakers say who is next, in every interface; a channel says why it rests.",
        {
            "cli/act/test_order.py": [
                "test_a_channel_is_created_with_agents_that_are_not_connected_yet",
                "test_the_same_command_works_after_a_refusal",
                "test_a_person_says_who_speaks_next",
                "test_a_turn_is_handed_to_a_member",
                "test_status_and_show_say_why_a_channel_rests",
            ],
            "http/routes/test_channels.py": [
                "test_a_channel_is_created_with_all_of_its_members_or_not_at_all",
                "test_the_order_of_turns_is_changed_as_a_whole",
                "test_a_channel_says_why_it_rests_and_what_starts_it_again",
            ],
            "http/routes/test_turns.py": [
                "test_a_person_says_who_speaks_next_while_somebody_speaks",
                "test_the_speaker_hands_its_turn_to_a_named_member",
                "test_a_turn_is_ended_and_the_next_one_waited_for_in_one_request",
            ],
            "inbox/test_inbox.py": [
                "test_a_turn_is_granted_and_delivered_in_one_commit_to_an_agent_that_waits",
            ],
            "acceptance/test_who_speaks_next.py": [
                "test_a_selector_chooses_the_speakers_of_a_channel_of_three",
                "test_a_mentioned_member_speaks_before_the_ring_goes_on",
                "test_a_handoff_goes_to_the_member_that_the_speaker_names",
            ],
        },
    ),
)

SUPERVISION = (
    Promise(
        "A mistake in an agent's settings is reported with its line and a remedy.",
        {
            "settings/test_agents.py": [
                "test_a_mistake_is_reported_with_its_line_and_a_remedy",
                "test_a_command_that_cannot_be_run_says_how_to_write_it",
                "test_tables_that_conflict_are_refused",
            ],
            "cli/test_main.py": ["test_doctor_looks_for_the_programs_and_folders_of_agents"],
        },
    ),
    Promise(
        "People start and stop agents over HTTP and the command line, and see the effect.",
        {
            "views/run/test_badges.py": [
                "test_every_situation_has_one_word_one_line_and_its_controls",
                "test_an_agent_that_muster_runs_can_be_stopped_whenever_its_desired_state_is_not_pause",
                "test_the_word_of_a_program_is_that_of_its_current_state",
            ],
            "http/routes/test_runs.py": [
                "test_a_wish_is_answered_with_what_is_wanted_and_what_is_done",
                "test_the_badge_is_the_same_in_every_answer",
                "test_a_wish_counts_only_if_nobody_wanted_something_meanwhile",
                "test_wishes_are_the_operators_and_everybody_may_look",
                "test_a_program_is_started_shown_and_stopped",
                "test_a_program_is_restarted_and_a_paused_one_is_refused",
            ],
            "cli/act/test_run_control.py": [
                "test_a_program_is_run_once_and_tidies_up_once",
                "test_a_program_that_does_not_end_is_stopped_by_asking_twice",
                "test_wait_reports_a_missing_program",
                "test_the_exit_code_of_a_single_session_says_how_it_ended",
                "test_several_agents_give_a_line_each_and_the_worst_exit_code",
                "test_a_restart_gives_another_process_and_a_paused_agent_is_refused",
                "test_a_start_that_a_budget_forbids_says_so_and_fails",
                "test_a_scheduled_agent_runs_now_if_asked_to",
                "test_the_example_of_the_guide_runs",
            ],
        },
    ),
    Promise(
        "A paused agent that connects by itself finishes its turn, is told to stop, and gets no other.",
        {
            "http/routes/test_work.py": [
                "test_an_agent_that_is_paused_while_it_waits_is_told_to_stop_with_the_reason",
                "test_an_agent_that_is_paused_in_its_turn_may_finish_it",
                "test_a_paused_agent_gets_no_turn_and_no_message_until_it_is_started_again",
                "test_a_paused_and_disconnected_agent_is_told_to_stop_and_stays_disconnected",
            ],
            "client/test_client.py": ["test_an_agent_that_is_paused_finishes_its_turn_and_stops"],
            "machines/run_control/test_supervision.py": [
                "test_a_stopped_agent_finishes_its_turn_and_gets_no_other"
            ],
        },
    ),
    Promise(
        "The output of an agent can be read and followed, with control characters made harmless.",
        {
            "http/routes/test_runs.py": ["test_output_is_read_page_by_page_without_gap_or_repeat"],
            "cli/act/test_run_control.py": [
                "test_output_is_shown_without_a_server_with_errors_marked",
                "test_what_was_left_out_is_said_with_where_it_is",
                "test_hostile_output_is_shown_harmless",
                "test_output_is_followed_until_ctrl_c",
            ],
        },
    ),
    Promise(
        "A program that exits at once is never restarted in a busy loop.",
        {
            "machines/run_control/test_supervision.py": [
                "test_a_program_that_ends_at_once_is_started_once_a_second"
            ],
            "cli/run/test_run.py": ["test_a_program_that_ends_at_once_is_not_run_in_a_busy_loop"],
        },
    ),
    Promise(
        "An agent that reaches a limit of its budget is paused, with the reason as note.",
        {
            "machines/run_control/test_supervision.py": [
                "test_more_sessions_in_an_hour_than_the_budget_allows_pause_the_agent",
                "test_a_session_longer_than_the_budget_allows_is_ended_and_the_agent_paused",
                "test_as_many_failures_in_a_row_as_the_budget_allows_pause_the_agent",
            ],
        },
    ),
    Promise(
        "The four workflows of run control work with real processes under a state file.",
        {
            "cli/run/test_run.py": [
                "test_continuous_runs_one_session_after_another_until_something_else_is_wished",
                "test_pause_lets_the_session_finish_and_then_waits_for_another_wish",
                "test_a_one_shot_is_exactly_one_session_and_then_pause_is_written_twice",
            ],
        },
    ),
    Promise(
        "A FIFO or a device in the place of a file never blocks muster.",
        {
            "test_regular_files.py": [
                "test_no_reader_waits_for_a_fifo_or_a_device",
                "test_a_device_is_not_opened",
            ],
            "http/routes/test_conversations.py": ["test_a_fifo_among_agent_files_holds_up_nobody"],
        },
    ),
    Promise(
        "No desired state that is renamed into place is ever lost.",
        {
            "cli/run/test_run.py": ["test_no_wish_of_a_person_who_renames_is_ever_lost"],
            "mirrors/test_exchange.py": [
                "test_what_others_rename_in_between_is_changed_instead_and_not_lost",
                "test_a_crash_at_any_step_loses_nothing_that_others_wrote",
            ],
            "mirrors/state_file/test_files.py": [
                "test_a_wish_that_comes_while_muster_writes_is_neither_lost_nor_overlooked"
            ],
        },
    ),
    Promise(
        "A foreign runner loop works under muster unchanged, and muster under a foreign controller.",
        {
            "mirrors/state_file/test_files.py": [
                "test_a_foreign_loop_works_under_muster_unchanged",
                "test_a_wish_in_the_file_is_obeyed_and_what_is_done_is_said_there",
                "test_a_wish_that_a_loop_overwrote_with_what_it_had_read_before_is_written_again",
            ],
            "mirrors/state_file/test_document.py": [
                "test_the_seeds_own_file_is_understood_and_written_as_it_was"
            ],
            "mirrors/test_watch.py": [
                "test_every_kind_of_change_wakes",
                "test_a_look_at_a_file_that_is_watched_and_as_it_was_takes_one_call",
            ],
        },
    ),
    Promise(
        "A state file that is missing, malformed, unknown or unreadable counts as pause.",
        {
            "mirrors/state_file/test_files.py": [
                "test_a_missing_file_is_made_with_pause_and_pause",
                "test_a_malformed_file_counts_as_pause_is_kept_and_made_anew",
                "test_an_unknown_state_counts_as_pause_and_is_left_as_it_is_written",
                "test_what_cannot_be_read_counts_as_pause_until_it_can",
            ],
        },
    ),
    Promise(
        "Killing runner and program leaves no orphan, no double run, and a correct state.",
        {
            "cli/run/test_run.py": [
                "test_kills_leave_nobody_behind_start_nothing_twice_and_the_file_is_right",
                "test_what_a_killed_runner_left_is_ended_by_the_next",
            ],
            "runtimes/process/test_reclaim.py": [
                "test_after_a_kill_of_muster_all_that_it_left_is_found_and_ended",
                "test_what_was_started_and_never_written_down_is_found_too",
                "test_another_process_with_the_same_number_is_never_touched",
            ],
            "runtimes/process/test_leaving.py": [
                "test_whoever_a_program_leaves_behind_ends_with_it"
            ],
            "runtimes/process/test_processes.py": [
                "test_the_members_of_a_session_carry_its_name_and_nobody_elses",
                "test_a_daemon_that_left_its_session_and_its_environment_is_found_by_its_mark",
            ],
            "runtimes/process/test_orphans.py": [
                "test_daemons_that_a_program_starts_while_it_is_stopped_end_with_it",
                "test_a_daemon_that_hides_ends_with_the_last_session_that_can_have_started_it",
                "test_an_orphan_that_ends_while_its_session_goes_on_is_reaped",
                "test_exit_codes_of_other_children_are_not_taken",
            ],
        },
    ),
    Promise(
        "Stop lets a program finish; stop now escalates until its whole process group has ended.",
        {
            "runtimes/process/test_stopping.py": [
                "test_stop_now_asks_harder_until_it_ends",
                "test_a_graceful_stop_lets_a_program_finish",
            ],
        },
    ),
    Promise(
        "A stop begins with the stop signal of the settings, and a death by it is no failure.",
        {
            "runtimes/process/test_stopping.py": [
                "test_a_stop_begins_with_the_signal_of_the_settings",
                "test_a_stop_signal_that_is_ignored_is_followed_by_sigterm_once",
            ],
            "acceptance/test_process_settings.py": [
                "test_a_stop_of_an_agent_begins_with_its_stop_signal",
            ],
        },
    ),
    Promise(
        "Limits of a program hold from its start; the session says how, and a failure names them.",
        {
            "runtimes/process/test_resources.py": [
                "test_with_cgroup_v2_memory_cpu_and_processes_hold_for_the_whole_session",
                "test_without_cgroup_v2_the_kernels_limits_of_a_process_hold_as_far_as_they_go",
                "test_a_limit_that_does_not_bind_root_is_not_claimed",
            ],
            "runtimes/process/test_cgroups.py": [
                "test_a_cgroup_that_cannot_be_used_says_why",
                "test_a_session_has_a_cgroup_with_its_limits",
            ],
            "runtimes/process/test_limited.py": [
                "test_a_program_runs_within_its_limits_and_the_session_says_by_what_means",
                "test_a_program_over_its_cpu_time_is_killed_and_says_so",
                "test_a_program_that_the_kernel_kills_for_its_memory_says_so",
            ],
            "acceptance/test_process_settings.py": [
                "test_an_agent_over_its_limit_says_so_in_its_last_failure",
                "test_a_session_says_by_which_means_its_limits_hold",
            ],
        },
    ),
    Promise(
        "Output files are bounded in size, number and age; output is shown by time and session.",
        {
            "runtimes/process/test_output_file.py": [
                "test_with_an_age_a_file_has_one_day_and_older_files_are_removed",
                "test_files_that_are_too_old_or_too_many_go_with_the_next_output",
            ],
            "cli/act/test_run_control.py": [
                "test_output_is_chosen_by_time_session_and_stream",
                "test_a_time_since_when_is_an_interval_or_a_time",
            ],
            "acceptance/test_process_settings.py": [
                "test_output_over_http_is_chosen_by_time_session_and_stream",
            ],
        },
    ),
    Promise(
        "An environment file is read at each start; no error, log or answer has a value of it.",
        {
            "settings/test_env_file.py": [
                "test_lines_are_read_as_other_tools_read_them",
                "test_a_mistake_names_the_file_and_the_line_and_no_value",
                "test_only_a_short_regular_file_is_read_and_nothing_blocks",
            ],
            "runtimes/test_command.py": [
                "test_an_environment_file_is_read_at_each_start_and_env_goes_before_it",
            ],
            "acceptance/test_process_settings.py": [
                "test_an_environment_file_reaches_the_program_and_nothing_else",
                "test_a_mistake_in_an_environment_file_is_the_reason_of_the_failure",
            ],
        },
    ),
    Promise(
        "A program gets the prompt, folder and variables of its settings, and its exit code counts.",
        {
            "runtimes/test_command.py": [
                "test_a_program_reads_its_prompt_on_stdin_to_its_end",
                "test_a_program_runs_where_and_with_what_its_settings_say",
                "test_what_cannot_be_started_says_why_and_leaves_nothing_behind",
                "test_a_program_that_fails_says_why_with_its_last_words",
            ],
            "runtimes/test_catalog.py": [
                "test_an_agent_has_one_runtime_whatever_the_case_of_its_name"
            ],
        },
    ),
    Promise(
        "Output is processed line by line as it arrives, and a flood only in part.",
        {
            "runtimes/test_command.py": ["test_a_flood_is_told_in_part_and_kept_whole"],
            "runtimes/process/test_framing.py": [
                "test_any_way_to_cut_the_bytes_gives_the_same_lines"
            ],
            "runtimes/process/test_pipes.py": ["test_words_in_a_flood_are_not_lost"],
            "runtimes/process/test_output.py": ["test_what_is_still_read_at_the_end_is_bounded"],
            "runtimes/process/test_output_file.py": [
                "test_a_large_file_is_put_aside_and_the_oldest_is_let_go"
            ],
        },
    ),
    Promise(
        "A program asks for approvals, and reports tool calls and usage, by JSON lines; a hostile"
        " one is bounded.",
        {
            "runtimes/process/test_line_requests.py": [
                "test_a_program_that_ends_by_itself_asks_and_is_answered_on_its_stdin",
                "test_a_tool_call_is_shown_with_its_arguments_and_its_result",
                "test_a_flood_of_requests_is_bounded",
                "test_a_line_that_is_nested_too_deeply_ends_no_session",
                "test_a_program_repeats_the_channels_and_numbers_of_the_turns_in_its_prompt",
            ],
        },
    ),
    Promise(
        "Markers count on a line of their own outside code fences, and refusals have a reason.",
        {
            "runtimes/process/test_lines.py": [
                "test_a_marker_inside_a_code_fence_is_text_and_after_it_counts",
                "test_what_only_looks_like_it_is_text",
            ],
            "sessions/test_intake.py": [
                "test_a_rejected_marker_is_recorded_with_the_reason",
                "test_a_session_acts_for_its_own_seat_whatever_it_claims",
            ],
        },
    ),
    Promise(
        "A program is prompted with its turns and messages, and its answer in a turn is posted.",
        {
            "sessions/test_intake.py": [
                "test_a_one_shot_program_gets_its_turn_in_its_first_prompt",
                "test_a_long_lived_program_is_prompted_with_turns_and_messages_as_they_come",
                "test_a_message_is_delivered_again_if_the_program_did_not_start",
            ],
        },
    ),
    Promise(
        "An interruption loses no word of a program that muster runs, and no end of its turn.",
        {
            "acceptance/test_paused_programs.py": [
                "test_an_interruption_loses_no_word_and_no_end_of_turn",
                "test_a_program_that_exits_while_a_person_holds_its_turn_is_heard_at_the_release",
                "test_the_words_of_a_program_that_dies_while_its_turn_is_held_are_on_record",
            ],
            "cli/setup/test_claude_plugin.py": [
                "test_a_plugin_whose_muster_is_gone_says_how_to_remove_it",
                "test_removing_leaves_nothing_behind",
            ],
            "runtimes/claude/test_commands.py": [
                "test_a_command_is_a_word_that_the_program_knows",
            ],
            "acceptance/claude/test_commands.py": [
                "test_commands_are_run_and_not_told_to_the_model",
                "test_model_and_mode_are_switched_in_the_running_session_and_kept",
                "test_tools_are_among_the_logs",
            ],
            "http/routes/test_programs.py": [
                "test_a_choice_that_muster_toml_has_already_reaches_the_running_session",
            ],
            "stress/test_claude_crowd.py": [
                "test_no_message_is_lost_while_claude_codes_are_killed",
            ],
            "acceptance/claude/test_resuming.py": [
                "test_an_earlier_conversation_is_listed_and_the_next_session_resumes_it",
            ],
            "test_images.py": ["test_a_broken_image_is_none"],
            "machines/test_attachments.py": [
                "test_an_image_without_the_content_of_one_is_broken",
            ],
            "acceptance/claude/test_images.py": [
                "test_an_image_of_a_person_is_an_image_for_the_model",
                "test_what_is_no_image_is_refused_and_other_programs_say_that_they_take_none",
            ],
            "acceptance/claude/test_paused_turns.py": [
                "test_a_person_interrupts_the_holder_which_goes_on_with_the_message_at_the_release",
                "test_a_tool_call_is_interrupted_and_a_release_at_once_does_not_lose_the_message",
            ],
            "sessions/test_lost_turns.py": [
                "test_words_said_for_a_lost_turn_are_on_record_in_its_channel_and_nowhere_else"
            ],
            "sessions/test_paused_turns.py": [
                "test_lines_said_in_a_hold_are_posted_in_their_order_and_the_turn_ends_once",
                "test_words_after_a_wait_that_was_requested_in_a_hold_end_the_wait",
                "test_words_of_a_turn_that_is_taken_away_are_on_record_and_not_posted_later",
            ],
        },
    ),
    Promise(
        "A message in the middle of a turn is answered, also by a program that reads it too late.",
        {
            "acceptance/test_paused_programs.py": [
                "test_a_message_that_a_program_reads_after_its_turn_is_answered_in_another"
            ],
            "sessions/test_messages_in_turn.py": [
                "test_a_message_in_the_middle_of_a_turn_is_told_again_in_the_next_turn",
                "test_a_message_in_a_turn_that_is_lost_is_told_again_in_the_next_turn",
                "test_a_message_that_is_answered_at_once_is_not_told_again",
            ],
        },
    ),
    Promise(
        "A session that ends completes no turn that its program was not told of.",
        {
            "acceptance/test_paused_programs.py": [
                "test_a_dying_session_completes_no_turn_that_it_was_not_told_of"
            ],
            "sessions/test_told_turns.py": [
                "test_a_session_that_ends_completes_no_turn_that_it_was_not_told_of"
            ],
        },
    ),
    Promise(
        "What a program says about a turn that it names never counts in a later turn.",
        {
            "sessions/test_turn_numbers.py": [
                "test_late_words_are_refused_and_on_record_and_the_turn_goes_on",
                "test_a_late_end_without_words_leaves_the_printed_lines_of_the_turn",
                "test_late_waits_are_refused_and_late_partial_text_is_not_shown",
                "test_words_for_a_turn_that_nobody_told_it_of_are_no_words_for_the_human",
            ],
        },
    ),
    Promise(
        "Acts of earlier work leave a turn alone whose prompt its program has not begun.",
        {
            "machines/turns/test_not_begun.py": [
                "test_an_act_that_names_no_turn_is_refused_until_the_program_begins_the_turn",
                "test_an_act_that_names_the_turn_counts_because_its_program_knows_of_it",
            ],
            "sessions/test_told_turns.py": [
                "test_words_and_ends_of_earlier_work_leave_a_turn_whose_prompt_waits"
            ],
            "mcp/test_early_acts.py": [
                "test_an_early_end_leaves_the_turn_and_says_why",
                "test_a_program_that_asks_for_its_turn_ends_it_without_its_prompt",
            ],
        },
    ),
    Promise(
        "Programs hand their turn over, raise their hand, and choose the next speaker.",
        {
            "sessions/test_next_speaker.py": [
                "test_a_program_hands_its_turn_to_a_named_member",
                "test_a_program_raises_its_hand_and_lowers_it",
                "test_a_selector_is_asked_with_the_candidates_and_its_answer_is_no_message",
            ],
        },
    ),
    Promise(
        "Text appears while an agent writes it, and is never an event in the log.",
        {
            "engine/test_partials.py": ["test_partial_text_is_no_event_of_the_log"],
            "http/routes/test_events.py": [
                "test_partial_text_goes_out_without_an_id_and_in_its_order_with_events"
            ],
            "acceptance/test_paused_programs.py": [
                "test_what_a_program_writes_is_streamed_while_it_writes_and_not_recorded"
            ],
        },
    ),
    Promise(
        "The four workflows of run control work over HTTP and by writing the state file alone.",
        {
            "acceptance/test_supervised.py": [
                "test_start_runs_one_session_after_another_until_something_else_is_wanted",
                "test_stop_lets_the_session_finish_and_waits_for_something_else",
                "test_a_one_shot_is_one_session_and_then_nothing_is_wanted",
                "test_a_loop_that_knows_nothing_of_muster_is_started_and_stopped",
            ],
        },
    ),
    Promise(
        "No program outlives muster for long, and desired sessions resume exactly once.",
        {
            "acceptance/test_supervised.py": [
                "test_what_a_killed_muster_left_running_is_ended_and_what_is_wanted_runs_once",
                "test_a_muster_that_ends_in_order_ends_its_sessions_and_says_so_in_the_files",
            ],
        },
    ),
    Promise(
        "Failed sessions are retried with backoff, and a session can only post while it runs.",
        {
            "acceptance/test_supervised.py": [
                "test_a_program_that_fails_is_tried_again_later_each_time_and_why_says_so",
                "test_a_budget_that_is_used_up_pauses_with_the_reason_as_note",
                "test_a_session_speaks_with_its_token_and_the_token_ends_with_it",
                "test_a_program_is_told_of_its_turn_and_what_it_prints_is_what_it_says",
            ],
        },
    ),
    Promise(
        "Every benchmark of run control does what it claims.",
        {
            "bench/test_run_control.py": [
                "test_every_measured_start_is_a_session_in_the_log",
                "test_every_measured_stop_ends_a_session_or_finds_none",
                "test_a_measured_flood_is_left_out_of_the_log_and_kept_in_files",
            ],
        },
    ),
    Promise(
        "The memory of a runner without a server does not grow with its history.",
        {"store/test_memory.py": ["test_a_forgetful_store_does_not_grow_for_ever"]},
    ),
    Promise(
        "A lead's markers report about its team; malformed ones are rejected and logged.",
        {
            "acceptance/test_lead.py": [
                "test_a_lead_brings_agents_to_life_and_its_word_is_the_truth"
            ],
        },
    ),
    Promise(
        "A wake first asks the lead about unconfirmed agents, and wakes only those it does not confirm.",
        {
            "identity/test_waking.py": [
                "test_a_lead_is_asked_first_about_unconfirmed_agents",
                "test_a_lead_gets_soul_and_transcript_to_wake_a_sleeping_agent",
                "test_a_user_s_prompt_template_replaces_the_built_in_one",
            ],
        },
    ),
    Promise(
        "Eight agents are born, and each wakes with its soul and the messages of its last session.",
        {
            "acceptance/test_whole_life.py": [
                "test_eight_are_born_and_each_wakes_as_itself_after_all_that_can_happen"
            ],
        },
    ),
)

MISSION_CONTROL = (
    Promise(
        "The page signs in by its link, has a strict content policy, and is small and live.",
        {
            "web/test_shell.py": [
                "test_the_printed_link_signs_in_once_and_lands_on_the_page",
                "test_the_page_has_a_strict_policy_and_nothing_inline",
                "test_the_first_view_is_small",
                "test_more_tabs_than_a_browser_has_connections_share_one_stream_and_agree",
                "test_a_restart_is_shown_and_no_event_is_missed",
                "test_fifty_events_a_second_disturb_neither_focus_nor_frame_rate",
                "test_a_view_begins_at_its_top_back_finds_the_place_and_no_view_waits_for_files",
            ],
            "web/test_everybody.py": ["test_axe_finds_nothing_in_any_view_and_any_dialog"],
            "web/test_firefox.py": ["test_a_person_signs_in_talks_and_answers_in_firefox"],
            "http/routes/test_state.py": ["test_everything_is_one_answer"],
            "http/page/test_linking.py": [
                "test_a_module_is_called_once_after_those_that_it_imports"
            ],
        },
    ),
    Promise(
        "Agents stand in groups by what they do; a large team is a list that can be filtered and sorted.",
        {
            "web/test_roster.py": [
                "test_agents_stand_in_groups_by_what_they_do",
                "test_a_large_team_is_a_list_until_a_person_wants_cards",
                "test_a_filter_and_an_order_narrow_and_sort_the_roster",
                "test_the_list_is_usable_for_everybody",
            ],
            "views/run/test_badges.py": [
                "test_an_agent_stands_in_the_group_that_says_whether_it_has_work"
            ],
        },
    ),
    Promise(
        "The team is a grid of nine with the lead in the middle, and agents that need a person come first.",
        {
            "web/test_team.py": [
                "test_a_team_is_summoned_hatches_sleeps_and_wakes",
                "test_agents_that_wait_fail_or_are_stuck_come_first_and_in_the_title",
                "test_arrow_keys_move_and_shortcuts_act",
                "test_a_failing_agent_can_be_tried_now_and_stopped_and_the_key_stops_it",
                "test_no_key_acts_on_an_agent_that_nobody_selected",
                "test_conflicting_reports_are_shown_until_they_are_done",
                "test_unconfirmed_agents_are_unknown_and_expired_seats_are_hidden",
            ],
        },
    ),
    Promise(
        "One agent is talked to, started and stopped in the page, with both states side by side.",
        {
            "web/test_agent.py": [
                "test_a_person_and_an_agent_talk",
                "test_the_controls_are_those_of_the_table",
                "test_desired_and_current_are_shown_side_by_side_while_they_differ",
            ],
            "web/test_states.py": [
                "test_every_place_shows_the_same_word_line_and_controls",
                "test_nothing_beside_a_badge_contradicts_it",
            ],
            "web/test_policies.py": [
                "test_a_failure_shows_its_code_the_last_lines_of_stderr_and_the_next_try",
                "test_the_next_run_is_told_in_the_time_zone_of_the_person",
                "test_a_running_agent_is_restarted_from_its_menu_by_keys_alone",
                "test_a_group_is_shown_and_started_stopped_and_restarted_together",
            ],
        },
    ),
    Promise(
        "Conversations are started, followed step by step, and shown with their files and denials.",
        {
            "web/test_conversations.py": [
                "test_a_request_shows_its_trace_reason_dialogue_and_file",
                "test_a_denial_shows_the_rule_and_the_agent_to_create",
            ],
            "http/routes/test_dialogues.py": [
                "test_a_dialogue_is_everything_that_happened_in_a_conversation"
            ],
        },
    ),
    Promise(
        "Every benchmark of the page is measured in a browser.",
        {
            "bench/test_web.py": [
                "test_every_line_of_the_dashboard_is_measured_in_a_browser",
                "test_a_message_is_seen_when_it_or_a_later_one_of_its_agent_is_on_the_screen",
            ],
        },
    ),
    Promise(
        "Hostile text is escaped wherever it is shown, and breaks nothing.",
        {
            "web/test_hostile.py": [
                "test_output_is_shown_as_text_everywhere",
                "test_ten_thousand_lines_a_second_are_bounded_and_the_page_stays_responsive",
                "test_the_content_security_policy_blocks_injected_markup",
            ],
            "views/test_markdown.py": [
                "test_hostile_text_is_harmless",
                "test_no_text_is_harmful",
            ],
        },
    ),
)

PAST = (
    Promise(
        "The team can be shown as of any event, and the timeline agrees with it.",
        {
            "views/test_history.py": [
                "test_a_moment_is_what_the_log_adds_up_to_by_then_and_when_that_was",
                "test_at_every_moment_the_lanes_say_what_the_team_was",
                "test_one_question_folds_no_more_than_it_may_and_the_next_goes_on_from_there",
            ],
            "http/routes/test_history.py": [
                "test_the_team_is_shown_as_it_was_after_any_event",
                "test_the_diagrams_have_every_state_and_every_way_of_every_machine",
            ],
            "web/test_time.py": [
                "test_choosing_an_event_shows_the_team_after_it",
                "test_choosing_a_moment_on_the_timeline_shows_the_team_at_that_time",
                "test_the_log_updates_live_is_filtered_and_can_be_paused",
                "test_diagrams_highlight_occupied_states_now_and_in_the_past",
            ],
        },
    ),
    Promise(
        "A person sees who has the turn and for how long, posts at any time, and overrides.",
        {
            "web/test_channel.py": [
                "test_the_ring_shows_the_turn_holder_the_timeout_and_the_next_member",
                "test_the_effect_on_the_turn_is_shown_before_sending_and_chosen_for_one_message",
                "test_a_person_passes_the_turn_on_takes_it_away_and_gives_it",
                "test_members_are_added_and_removed",
                "test_a_click_is_pending_until_its_event_has_come_back",
            ],
            "machines/turns/test_turns.py": [
                "test_a_message_may_have_a_mode_of_its_own_and_the_rule_of_the_channel_stays",
            ],
            "http/routes/test_messages.py": [
                "test_a_human_message_may_have_a_mode_of_its_own",
            ],
        },
    ),
    Promise(
        "The page shows who speaks next and why, and a person changes that and the order.",
        {
            "web/test_channel_order.py": [
                "test_a_person_chooses_who_speaks_next_while_another_member_has_the_turn",
                "test_a_handoff_names_the_agent_that_handed_over",
                "test_a_hand_is_raised_and_lowered",
                "test_the_selector_is_marked_and_its_choice_is_shown",
                "test_the_order_changes_by_dragging_and_by_keys",
                "test_the_order_changes_by_touch",
                "test_the_timeout_of_a_member_is_changed_and_a_refusal_is_shown",
                "test_an_agent_is_added_before_it_connects",
                "test_a_removed_agent_is_barred_until_a_person_lets_it_back_in",
            ],
        },
    ),
    Promise(
        "The page has every rule of a channel, and says which limit ended a conversation.",
        {
            "web/test_channel_life.py": [
                "test_a_channel_is_created_with_its_members_in_the_order_of_choosing",
                "test_a_team_without_agents_is_told_how_to_get_one",
                "test_every_rule_of_a_channel_has_a_field",
                "test_a_channel_that_rests_at_a_limit_says_which_and_a_message_starts_it_again",
                "test_a_channel_that_rests_at_a_limit_in_all_goes_on_when_the_limit_is_raised",
                "test_a_channel_is_archived_listed_under_a_fold_and_brought_back",
                "test_a_channel_is_exported_as_a_download",
            ],
        },
    ),
    Promise(
        "The page loads messages from the end, has replies, files and search, and shows partial text.",
        {
            "web/test_channel_messages.py": [
                "test_the_thread_opens_at_the_end_and_loads_earlier_messages_on_scrolling_up",
                "test_a_link_to_an_old_message_shows_it_and_the_rest_follows",
                "test_a_person_replies_and_the_quoted_line_leads_to_the_original",
                "test_files_are_attached_by_button_drop_and_paste_and_shown_as_links",
                "test_a_file_over_the_limit_is_refused_before_it_is_sent",
                "test_what_a_message_did_to_the_turn_is_said_in_the_servers_words",
                "test_text_appears_while_it_is_written_and_its_message_replaces_it",
                "test_partial_text_goes_with_its_turn",
            ],
            "web/test_search.py": [
                "test_messages_are_found_newest_first_with_marked_words_and_enter_shows_one",
            ],
        },
    ),
)

DELEGATING = (
    Promise(
        "The example session of a delegation gives its files, entry by entry.",
        {
            "delegation/test_session_files.py": [
                "test_the_folder_has_the_documented_files_and_nothing_else",
                "test_state_jsonl_has_the_documented_entries_and_fields",
                "test_a_dialogue_has_a_section_for_every_event_in_order",
            ],
        },
    ),
    Promise(
        "A session's folder is derived from its log, byte for byte.",
        {
            "delegation/folder/test_workspace.py": [
                "test_a_folder_updated_event_by_event_equals_one_built_from_the_whole_log",
                "test_repeating_writes_after_a_crash_is_idempotent",
            ],
            "delegation/folder/test_file_changes.py": [
                "test_created_changed_and_deleted_files_are_found_with_size_and_digest"
            ],
            "delegation/test_agent_folders.py": [
                "test_a_session_finds_its_agents_after_its_project_was_moved",
                "test_a_name_that_people_take_for_another_is_no_state",
            ],
            "delegation/folder/test_queue.py": [
                "test_a_message_is_json_with_its_speaker_or_plain_text"
            ],
        },
    ),
    Promise(
        "A delegated task is a session of its agent's seat, with output, costs, approvals and an end.",
        {
            "machines/run_control/test_tasks.py": [
                "test_a_description_takes_a_seat_off_the_grid_with_its_first_task",
                "test_a_paused_agent_is_given_no_task_and_the_conversation_stays_where_it_is",
                "test_the_deadline_of_a_task_is_in_the_state_and_ends_its_session",
                "test_a_person_who_stops_an_agent_now_ends_its_tasks",
                "test_a_session_that_ends_before_its_task_is_finished_fails_the_task",
            ],
            "cli/delegate/test_delegation.py": [
                "test_an_agent_that_the_home_holds_back_does_not_run_in_a_session_of_its_own",
            ],
            "delegation/test_task_runner.py": [
                "test_a_task_is_a_session_in_the_log_with_its_output_and_its_costs",
                "test_a_task_session_can_request_an_approval",
            ],
            "delegation/test_conversations.py": [
                "test_a_paused_agent_is_not_run_and_the_answer_says_the_rule_and_the_remedy",
                "test_a_message_for_a_paused_agent_waits_in_the_queue_and_says_why",
            ],
        },
    ),
    Promise(
        "All three modes of delegation work with real programs, concurrently and after a crash.",
        {
            "delegation/test_conversations.py": [
                "test_several_runners_carry_out_each_message_exactly_once",
                "test_a_loop_of_hand_overs_without_progress_is_stopped_with_the_reason",
                "test_conversations_that_a_crash_left_open_are_closed_by_the_next_request",
                "test_a_folder_that_cannot_be_written_is_reported_and_the_next_request_retries",
            ],
            "delegation/test_task_runner.py": [
                "test_standard_output_is_the_report_and_standard_error_is_kept_apart"
            ],
            "delegation/test_replies.py": [
                "test_a_request_that_main_may_not_do_is_denied_with_an_agent_to_create"
            ],
        },
    ),
    Promise(
        "A conversation is explained and logged in the shell, wherever it was asked.",
        {
            "cli/delegate/test_verbs_of_both_logs.py": [
                "test_why_explains_a_conversation_of_a_session_with_a_log_of_its_own",
                "test_why_and_the_logger_know_the_conversations_of_the_team",
                "test_status_shows_the_session_of_a_folder_and_that_of_a_team",
            ],
        },
    ),
    Promise(
        "Nested requests of agents and the length of a dialogue are bounded, and say so.",
        {
            "cli/delegate/test_nesting.py": [
                "test_an_agent_that_asks_itself_is_stopped_and_its_requests_are_its_own",
                "test_an_agent_cannot_teach_the_router",
            ],
            "http/routes/test_conversations.py": [
                "test_an_agent_asks_with_its_own_token_and_it_is_recorded_as_its_own",
            ],
            "machines/delegation/test_delegation.py": [
                "test_requests_are_nested_only_so_deep",
                "test_a_line_of_another_program_is_about_a_conversation_of_its_own",
                "test_an_agent_asks_in_its_own_name_and_deeper_than_what_it_works_on",
                "test_a_full_dialogue_is_cut_where_it_says_so_and_keeps_reports_and_answers",
            ],
        },
    ),
    Promise(
        "A person's choice of an agent is remembered in the project, weighs in and is explained.",
        {
            "routing/test_choices.py": [
                "test_the_same_request_goes_to_the_agent_that_was_chosen_for_it",
                "test_a_similar_request_weighs_the_choice_in_and_says_so",
                "test_accuracy_does_not_fall_when_the_right_answers_to_other_requests_are_remembered",
            ],
            "delegation/test_choices.py": [
                "test_an_answered_question_is_not_asked_again",
                "test_a_new_session_of_the_project_has_the_choices_of_the_last_one",
            ],
            "machines/delegation/test_delegation.py": [
                "test_only_people_choose_and_only_agents_of_the_session_are_chosen",
                "test_the_oldest_choice_goes_when_there_are_too_many",
            ],
            "cli/delegate/test_choices.py": [
                "test_a_choice_is_listed_explained_kept_for_the_next_session_and_forgotten",
            ],
            "http/routes/test_conversations.py": [
                "test_choices_are_remembered_listed_and_forgotten",
            ],
            "web/test_conversations.py": [
                "test_a_wrong_agent_is_corrected_and_the_same_request_goes_to_the_right_one",
            ],
        },
    ),
    Promise(
        "An ambiguous request asks which agent is meant, with reasons, and one key answers.",
        {
            "routing/test_ambiguity.py": [
                "test_a_tie_is_ambiguous_and_both_agents_have_a_reason",
                "test_a_clear_decision_is_not_ambiguous",
            ],
            "delegation/test_ambiguous_requests.py": [
                "test_an_ambiguous_request_opens_nothing_and_names_the_agents_with_reasons",
                "test_where_nobody_can_be_asked_the_best_agent_gets_it_and_the_doubt_is_on_record",
            ],
            "cli/delegate/test_choosing.py": [
                "test_at_a_terminal_one_key_chooses_the_agent",
                "test_without_a_terminal_the_agents_are_named_and_how_to_choose_one",
            ],
            "http/routes/test_conversations.py": [
                "test_an_ambiguous_request_is_answered_with_the_agents_to_choose_from",
            ],
            "web/test_conversations.py": [
                "test_an_ambiguous_request_asks_which_agent_and_one_key_answers",
            ],
            "delegation/following/test_record.py": [
                "test_main_chooses_where_the_router_is_unsure_from_candidates_with_descriptions",
            ],
            "delegation/test_replies.py": [
                "test_where_no_agent_matches_the_closest_three_are_named_with_their_reasons",
            ],
        },
    ),
    Promise(
        "One input is one conversation, and the shell and the dashboard of a folder share them.",
        {
            "delegation/following/test_record.py": [
                "test_a_second_subagent_works_on_the_conversation_beside_the_first",
            ],
            "acceptance/claude/test_plugin_story.py": [
                "test_two_subagents_in_the_background_are_one_conversation_and_waited_for",
            ],
            "cli/delegate/test_continuing.py": [
                "test_a_session_goes_on_in_the_server_and_both_sides_see_what_is_asked",
                "test_a_conversation_from_before_the_server_is_read_whole_in_the_dashboard",
                "test_a_session_with_agents_from_elsewhere_stays_where_it_is",
            ],
        },
    ),
    Promise(
        "Where the router is unsure, a selector chooses from its list, and both opinions are kept.",
        {
            "machines/delegation/test_selection.py": [
                "test_the_chosen_agent_gets_the_conversation_in_the_same_transaction",
                "test_no_choice_closes_the_conversation_with_the_closest_agents",
            ],
            "delegation/test_selector.py": [
                "test_the_selector_chooses_and_both_opinions_are_on_record",
                "test_the_selector_is_not_asked_where_the_router_is_sure",
                "test_a_choice_that_is_not_in_the_list_does_nothing_and_names_the_closest",
                "test_under_a_lead_that_runs_the_lead_chooses",
            ],
            "bench/test_selecting.py": [
                "test_a_model_that_is_asked_only_where_the_router_is_unsure_makes_more_right",
            ],
        },
    ),
    Promise(
        "Delegation works at the command line and over HTTP.",
        {
            "cli/delegate/test_delegation.py": [
                "test_the_documented_example_is_printed_line_by_line",
                "test_requests_of_several_processes_never_collide",
                "test_after_a_kill_the_next_request_ends_what_was_left_and_says_so",
            ],
            "http/routes/test_conversations.py": [
                "test_a_request_is_answered_with_its_trace_and_its_files",
                "test_a_server_that_was_killed_closes_what_was_left_when_it_starts",
            ],
        },
    ),
)

DEMO = (
    Promise(
        "A demo team without a model shows births, turns, waiting, a task, a crash, and a clean stop.",
        {
            "demo/test_demo.py": [
                "test_the_story_reports_delegates_fixes_and_reviews_a_bug",
                "test_eight_agents_are_born_with_names_and_souls_around_a_lead",
                "test_the_first_message_says_that_no_model_is_behind_the_demo",
                "test_the_turn_passes_round_the_ring_until_all_agents_are_silent",
                "test_a_task_was_handed_out_and_a_file_is_there",
                "test_a_person_s_message_wakes_the_channel_and_an_agent_answers",
                "test_an_agent_waits_for_a_person_and_resumes_at_the_answer",
                "test_an_idle_demo_does_nothing",
                "test_a_crashed_agent_comes_back_with_its_name_and_soul",
                "test_a_clean_stop_leaves_no_process_and_the_next_start_has_the_same_team",
                "test_the_user_s_own_team_is_left_alone",
            ],
            "demo/test_hearing.py": ["test_a_turn_news_and_a_direct_message_are_told_apart"],
        },
    ),
)

TALKING_TO_EACH = (
    Promise(
        "A team offers SUMMON, WAKE or nothing by a fixed table, and documents follow their schema.",
        {
            "views/test_documents.py": [
                "test_the_button_follows_the_documented_table",
                "test_every_team_of_three_shows_the_documented_button",
                "test_the_lead_s_own_document_never_counts",
                "test_an_agents_document_has_exactly_the_documented_fields",
            ],
        },
    ),
    Promise(
        "Summon, wake, sleep and each agent's thread work over HTTP; bad input changes nothing.",
        {
            "http/routes/test_identity.py": [
                "test_summon_prepares_eight_places_and_tells_the_lead_once",
                "test_wake_means_whoever_sleeps_or_is_unknown_and_the_lead_is_told_once",
                "test_the_wake_payload_is_shown_before_an_agent_wakes",
                "test_a_message_is_accepted_then_delivered_then_read",
                "test_an_agent_speaks_to_the_human_as_itself_and_as_nobody_else",
                "test_a_call_for_nobody_is_refused",
                "test_wake_agents_as_text_without_a_receiver_is_the_endpoint",
            ],
        },
    ),
    Promise(
        "A person summons, wakes, puts to sleep, and reads souls and transcripts at a terminal.",
        {
            "cli/act/test_identity.py": [
                "test_agents_shows_who_is_who_without_a_server",
                "test_a_soul_is_printed_whole_and_cannot_act_on_the_terminal",
                "test_a_transcript_is_what_was_said_in_the_last_life",
                "test_the_program_of_the_guide_is_born_eight_times_and_wakes",
            ],
        },
    ),
    Promise(
        "A message to an agent on files is in its inbox file once, despite concurrent writers.",
        {
            "web/test_agent.py": [
                "test_the_chat_says_that_a_message_went_through_the_lead_and_shows_its_answer",
            ],
            "acceptance/claude/test_teammates.py": [
                "test_a_message_to_a_native_teammate_reaches_its_own_context",
            ],
            "mirrors/inbox_file/test_teammates.py": [
                "test_a_teammate_is_written_to_in_its_own_inbox_and_has_read_what_is_gone",
                "test_what_nobody_reads_in_time_goes_through_the_lead_once",
                "test_the_namesake_of_a_retired_agent_does_not_find_its_messages",
                "test_what_was_said_to_a_sleeping_agent_goes_through_the_lead_when_it_is_awake_"
                "and_does_not_read",
                "test_what_is_not_the_file_of_a_team_is_no_team",
                "test_the_team_of_another_session_and_hostile_names_are_left_alone",
            ],
            "mirrors/inbox_file/test_files.py": [
                "test_a_message_is_written_then_delivered_and_read_when_it_is_marked",
                "test_what_was_written_before_a_crash_is_recognised_and_only_recorded",
                "test_a_process_that_writes_in_place_makes_nobody_lose_a_message",
            ],
            "mirrors/inbox_file/test_format.py": [
                "test_many_processes_that_take_the_lock_lose_nothing",
                "test_a_name_that_could_leave_the_folder_is_refused",
            ],
        },
    ),
    Promise(
        "An answer in the human's inbox file is recorded once, and only for agents on files.",
        {
            "mirrors/inbox_file/test_files.py": [
                "test_an_answer_that_was_told_before_a_crash_is_only_marked",
                "test_marks_that_are_taken_back_and_entries_that_come_twice_tell_nothing",
                "test_nobody_is_believed_to_be_somebody_who_does_not_live_on_files",
            ],
        },
    ),
    Promise(
        "Merging two versions of a team is commutative and idempotent.",
        {
            "machines/teams/test_merge.py": [
                "test_merging_is_commutative",
                "test_merging_is_associative",
                "test_merging_is_idempotent",
                "test_the_later_life_and_the_first_soul_stay_though_they_come_from_two_documents",
            ],
            "machines/teams/test_importing.py": [
                "test_a_team_with_a_lead_imports_the_merged_documents",
                "test_a_discarded_document_is_logged_once",
            ],
            "acceptance/test_two_machines.py": [
                "test_two_machines_that_exchange_their_files_agree_"
                "and_the_second_time_nothing_changes",
            ],
        },
    ),
    Promise(
        "Nobody can speak in the name of a person: no name, no line and no notice of muster.",
        {
            "machines/identity/test_renaming.py": [
                "test_a_name_that_reads_as_the_person_or_as_muster_is_reserved",
                "test_nobody_takes_the_name_under_which_the_program_still_speaks",
            ],
            "views/memory/test_wake_payload.py": [
                "test_no_name_can_be_read_as_a_speaker_with_a_channel",
                "test_what_muster_tells_a_lead_is_not_the_words_of_the_person",
                "test_a_line_break_cannot_forge_a_speaker",
            ],
            "web/test_speakers.py": [
                "test_every_line_on_the_page_belongs_to_the_one_who_said_it",
            ],
        },
    ),
    Promise(
        "An agent that is renamed while it runs is reached and heard by its old name until it ends.",
        {
            "machines/identity/test_renaming.py": [
                "test_the_running_program_keeps_its_name_until_it_sleeps",
                "test_the_lead_is_told_of_the_new_name_by_muster",
                "test_an_agent_answers_to_every_name_that_its_lead_was_told_until_it_sleeps",
                "test_a_program_of_muster_or_one_that_connects_keeps_its_name_until_it_ends",
                "test_the_name_of_a_program_is_free_when_its_session_has_ended",
                "test_a_program_that_was_renamed_while_it_started_has_the_name_that_it_was_given",
            ],
            "mirrors/inbox_file/test_files.py": [
                "test_an_agent_that_is_renamed_while_it_runs_keeps_its_inbox_until_it_sleeps",
            ],
        },
    ),
    Promise(
        "An agent with a table is one agent on two machines, whichever seats they gave it.",
        {
            "machines/teams/test_seating.py": [
                "test_edits_of_an_agent_meet_though_each_machine_gave_it_another_seat",
                "test_messages_are_in_the_thread_of_the_agent",
            ],
        },
    ),
    Promise(
        "A table of the settings is about the agent that it ran, whoever has its name.",
        {
            "machines/identity/test_listing.py": [
                "test_a_renamed_table_is_about_its_agent_whoever_has_the_new_name",
                "test_a_stranger_with_the_name_is_not_taken_for_the_retired_agent",
                "test_a_new_table_of_the_former_name_is_about_a_new_agent",
            ],
            "mirrors/test_roster.py": [
                "test_a_table_renamed_to_the_name_of_another_agent_leaves_both_as_they_are",
            ],
            "acceptance/test_live_settings.py": [
                "test_a_table_cannot_take_the_name_of_another_agent",
                "test_an_agent_is_not_added_under_a_name_that_is_taken",
            ],
        },
    ),
    Promise(
        "No new name can be taken for that of a person or of another agent; existing ones stay.",
        {
            "machines/identity/test_lookalikes.py": [
                "test_a_new_name_that_looks_like_another_agent_s_is_refused_and_says_whose",
                "test_a_name_that_looks_like_a_person_or_a_word_of_muster_is_reserved",
                "test_an_existing_pair_keeps_its_names",
                "test_an_import_is_refused_where_a_new_name_looks_like_that_of_an_agent_here",
            ],
        },
    ),
    Promise(
        "Words for an agent reach no other one that an import puts in its seat.",
        {
            "machines/teams/test_acts_of_people.py": [
                "test_an_agent_that_wins_a_seat_gets_nothing_that_was_for_the_one_before",
                "test_a_message_for_an_agent_that_lost_its_seat_reaches_nobody_else",
            ],
            "web/test_agent_replaced.py": [
                "test_text_that_was_typed_for_the_one_before_is_shown_and_not_sent",
                "test_a_message_that_is_under_way_is_refused",
            ],
        },
    ),
    Promise(
        "An agent cannot make itself older, and so win a merge.",
        {
            "machines/identity/test_bounds.py": [
                "test_the_age_of_an_agent_is_what_muster_recorded_and_not_what_the_agent_wrote",
            ],
        },
    ),
    Promise(
        "An import ends nothing: an agent that the settings name keeps that name.",
        {
            "machines/teams/test_acts_of_people.py": [
                "test_an_agent_with_a_table_keeps_the_name_of_the_table_and_takes_the_rest",
                "test_an_agent_with_a_table_is_not_replaced_by_an_older_birth_in_its_seat",
            ],
        },
    ),
    Promise(
        "A team can always be imported where it was exported.",
        {
            "machines/teams/test_own_export.py": [
                "test_the_export_of_every_reachable_team_imports_there_"
                "and_the_second_time_changes_nothing",
            ],
        },
    ),
    Promise(
        "The later act of a person wins a merge: a rename, and an edit of a soul.",
        {
            "machines/teams/test_acts_of_people.py": [
                "test_an_edited_soul_travels_whatever_its_first_letter",
                "test_a_rename_travels_whatever_its_first_letter",
                "test_an_export_from_before_a_rename_does_not_undo_it",
                "test_who_knows_of_an_edit_overrules_it_though_the_clock_here_is_half_a_day_behind",
                "test_an_act_of_the_future_is_refused_because_nothing_could_overrule_it",
            ],
            "acceptance/test_two_machines.py": [
                "test_two_machines_agree_on_what_a_person_renamed_and_edited",
            ],
        },
    ),
    Promise(
        "A summoned agent can be retired and brought back to its seat; soul and history stay.",
        {
            "http/routes/test_repair.py": [
                "test_a_summoned_agent_is_retired_and_brought_back_with_its_soul",
                "test_an_agent_that_connects_by_itself_is_brought_back_without_a_token",
            ],
            "machines/identity/test_retiring.py": [
                "test_a_summoned_agent_leaves_when_its_session_has_ended_and_comes_back",
                "test_an_agent_that_was_retired_comes_back_unless_its_name_is_taken",
            ],
        },
    ),
    Promise(
        "The place of a retired agent in the grid is free for another one, with a seat of its own; "
        "soul, messages and document of the retired one stay, and it can be brought back.",
        {
            "http/routes/test_repair.py": [
                "test_the_place_of_a_retired_agent_is_taken_by_another_and_both_survive_a_crash",
            ],
            "acceptance/claude/test_hosted.py": [
                "test_the_place_of_a_retired_agent_of_a_real_lead_is_taken_by_another",
            ],
            "demo/test_cast.py": [
                "test_every_seat_has_its_character_and_that_of_a_successor_an_understudy",
            ],
            "machines/identity/test_places.py": [
                "test_an_imported_successor_in_the_last_seat_of_all_does_not_use_up_its_place",
                "test_a_successor_has_the_place_of_a_retired_agent_and_a_seat_of_its_own",
                "test_a_retired_agent_comes_back_beside_the_grid_and_gets_its_place_when_that_is_free",
                "test_the_fold_of_the_log_and_a_snapshot_have_the_same_places",
            ],
            "machines/teams/test_importing.py": [
                "test_two_machines_agree_about_a_successor_while_one_has_not_retired_its_predecessor",
            ],
            "web/test_team.py": [
                "test_the_place_of_a_retired_agent_is_summoned_on_the_page_and_its_soul_stays_readable",
            ],
        },
    ),
    Promise(
        "A template has roles, souls, settings and channels, no private words, and is shown before "
        "it is written; a team begins with it.",
        {
            "acceptance/claude/test_templates.py": [
                "test_a_pair_of_claude_codes_talks_and_stops_at_its_phrase",
                "test_the_agents_of_a_template_are_up_with_their_souls",
            ],
            "acceptance/test_templates.py": [
                "test_a_pair_from_a_template_talks_and_stops_by_its_limit",
                "test_settings_create_a_channel_once_and_give_a_soul_once",
                "test_an_exported_team_begins_again_elsewhere",
                "test_a_foreign_template_is_shown_and_written_only_with_consent",
            ],
            "templates/test_exporting.py": [
                "test_nothing_private_and_no_path_of_this_machine_is_in_a_template",
                "test_a_template_has_roles_souls_settings_and_channels",
            ],
            "templates/test_reading.py": [
                "test_a_template_of_the_package_becomes_valid_settings",
                "test_a_hostile_or_wrong_template_is_refused_as_a_whole",
            ],
            "settings/test_channels.py": [
                "test_a_channel_has_members_and_rules_beside_the_usual_ones",
                "test_a_wrong_channel_is_refused_with_its_line",
                "test_a_rename_and_a_removal_change_the_members_of_channels",
            ],
        },
    ),
    Promise(
        "An import starts nothing, leaves live agents alone, and never marks an agent as alive.",
        {
            "machines/teams/test_importing.py": [
                "test_an_import_starts_nothing",
                "test_an_import_does_not_change_a_live_agent_until_it_sleeps",
                "test_an_imported_alive_agent_is_unknown_until_the_lead_reports_it",
            ],
            "machines/teams/test_speakers.py": [
                "test_a_speaker_that_poses_as_another_one_refuses_the_whole_import",
                "test_usual_speakers_are_imported_and_those_that_are_known_here_always",
                "test_two_messages_with_one_id_refuse_the_whole_import",
            ],
            "acceptance/test_two_machines.py": [
                "test_a_file_that_is_not_as_it_should_be_is_refused_before_a_server_is_asked",
            ],
        },
    ),
    Promise(
        "If an inbox file is broken, the lead gets the messages to pass on.",
        {
            "mirrors/inbox_file/test_files.py": [
                "test_where_a_file_is_broken_the_lead_hands_messages_on",
                "test_a_message_that_was_routed_before_a_crash_is_not_routed_again",
            ],
        },
    ),
)

PERMISSIONS = (
    Promise(
        "In Claude Code the default path works, and only agents of the session are states.",
        {
            "acceptance/claude/test_default_path.py": [
                "test_an_agent_writes_its_outputs_and_main_its_documents",
                "test_only_agents_of_the_session_are_started",
                "test_a_line_of_main_cannot_write_where_the_judge_saw_nothing",
            ],
            "delegation/test_own_files.py": [
                "test_a_write_is_own_only_in_the_outputs_and_for_agents_in_their_dialogue",
                "test_a_line_of_main_is_own_if_it_runs_confined",
            ],
            "delegation/following/test_transcript.py": [
                "test_thoughts_texts_and_calls_are_told_in_order",
                "test_a_long_transcript_is_cut_and_says_so",
            ],
        },
    ),
    Promise(
        "A forbidden tool call of MAIN is denied by its effect, with the rule and an agent to ask.",
        {
            "permissions/test_judge.py": [
                "test_main_may_run_commands_that_only_read_or_write_documents",
                "test_main_may_not_run_other_commands_and_the_denial_names_the_rule",
                "test_main_may_not_write_programs_and_is_told_the_pattern",
                "test_a_link_is_judged_by_its_own_name_and_by_where_it_leads",
                "test_a_denial_says_what_was_wanted_and_the_remedy_names_an_agent_for_it",
            ],
            "permissions/test_shell.py": [
                "test_every_text_gets_a_verdict_within_the_time_limit",
                "test_a_list_is_allowed_only_if_each_of_its_parts_is",
            ],
            "permissions/test_lines.py": [
                "test_a_line_gets_its_verdict",
            ],
            "permissions/test_canary.py": [
                "test_a_command_that_main_may_run_starts_no_other_program"
            ],
        },
    ),
    Promise(
        "The shell, the dashboard and Claude Code share the session of a folder.",
        {
            "cli/delegate/test_delegation.py": [
                "test_what_is_asked_in_the_shell_is_in_the_server_of_the_folder_and_the_other_way_round",
                "test_an_agent_file_that_comes_later_is_a_state_of_the_open_session",
            ],
            "machines/delegation/test_delegation.py": [
                "test_agents_are_added_to_an_open_session_and_only_new_ones"
            ],
            "cli/setup/test_claude_plugin.py": [
                "test_the_command_without_a_prefix_comes_and_goes_and_another_one_stays"
            ],
            "acceptance/claude/test_installed_story.py": [
                "test_the_story_from_the_installation_to_the_files",
                "test_the_same_story_in_a_terminal",
            ],
        },
    ),
    Promise(
        "A folder of agent files and Claude Code are enough for a delegated task.",
        {
            "acceptance/claude/test_delegated.py": [
                "test_a_folder_of_agent_files_needs_two_commands_and_no_settings",
                "test_a_task_whose_writes_were_refused_did_not_complete",
                "test_a_confined_task_needs_no_approval",
            ],
            "runtimes/test_catalog.py": [
                "test_a_task_is_run_by_the_command_or_else_by_claude_code_if_it_is_installed"
            ],
        },
    ),
    Promise(
        "The kernel enforces what a command may write, whatever its line hides.",
        {
            "confine/test_canary.py": [
                "test_no_hostile_line_changes_a_file_outside_the_allowed_places",
                "test_no_random_line_changes_a_file_outside_the_allowed_places",
            ],
            "confine/test_git.py": [
                "test_git_shows_a_change_and_runs_no_program_that_the_repository_names",
                "test_settings_of_the_user_stay",
            ],
            "confine/test_launchers.py": [
                "test_a_policy_can_ignore_changes_of_modes_owners_and_times",
                "test_a_confined_command_changes_nothing_elsewhere",
                "test_a_command_that_cannot_be_confined_does_not_run",
                "test_a_connection_is_refused_unless_it_is_allowed",
            ],
            "confine/test_network.py": [
                "test_no_way_leads_to_tcp_or_to_a_daemon_without_a_network"
            ],
            "confine/test_others.py": ["test_another_program_keeps_its_limits_and_priorities"],
            "confine/test_reach.py": [
                "test_no_filesystem_is_administered_whatever_the_request",
                "test_no_program_is_made_that_runs_as_its_owner",
                "test_what_programs_share_without_a_file_is_out_of_reach",
            ],
            "confine/test_policy.py": [
                "test_what_an_older_kernel_lacks_is_said",
                "test_a_mistake_in_a_policy_is_named",
            ],
            "confine/test_session.py": [
                "test_a_judged_line_does_what_it_does_unconfined",
                "test_git_runs_no_program_that_a_folder_of_a_clone_names",
                "test_a_line_writes_the_outputs_and_its_documents_and_nothing_else",
            ],
            "runtimes/process/test_confined.py": [
                "test_a_session_confined_to_its_outputs_writes_nothing_else",
                "test_a_confined_session_reaches_a_daemon_only_if_its_settings_say_so",
                "test_a_session_confined_to_its_worktree_writes_there_and_not_in_the_home",
                "test_a_machine_that_cannot_confine_runs_the_program_and_says_why",
            ],
            "cli/delegate/test_confined_tasks.py": [
                "test_a_task_confined_to_its_outputs_writes_them_and_nothing_else",
                "test_status_and_doctor_name_the_agents_that_are_not_confined",
            ],
            "acceptance/claude/test_confined.py": [
                "test_claude_code_works_confined_to_its_outputs"
            ],
            "cli/run/test_confine.py": [
                "test_a_command_runs_confined_with_its_exit_code",
                "test_a_policy_that_is_wrong_runs_nothing",
            ],
        },
    ),
    Promise(
        "Permissions are a file that a person can edit, and mistakes in it are reported.",
        {
            "permissions/test_policy.py": [
                "test_a_policy_that_is_written_reads_back_the_same",
                "test_a_mistake_is_named_with_its_field",
            ],
            "cli/look/test_permit.py": [
                "test_the_policy_is_written_once_edited_and_used",
                "test_many_calls_are_answered_in_order_and_what_is_no_call_is_denied",
            ],
        },
    ),
)

ROUTING = (
    Promise(
        "Agent files are read as intended, and a skipped or hidden one is a warning.",
        {
            "routing/test_agent_files.py": [
                "test_an_odd_agent_file_is_read_as_intended",
                "test_the_first_folder_takes_precedence_and_the_warning_names_both_files",
                "test_a_warning_names_the_file_and_the_line",
            ],
        },
    ),
    Promise(
        "A request goes to the agent whose description covers it, or stays in MAIN, with reasons.",
        {
            "routing/test_router.py": [
                "test_routing_of_the_development_set_meets_its_goals",
                "test_routing_of_other_teams_stays_above_its_floor",
                "test_a_question_about_an_agent_stays_in_main",
                "test_negative_sentences_of_a_description_attract_no_requests",
                "test_an_explanation_has_the_words_the_score_and_the_margin",
                "test_talk_about_technology_that_no_rule_knows_mostly_stays_in_main",
            ],
            "routing/test_cues.py": [
                "test_requests_in_everyday_words_stay_above_their_floor",
                "test_one_cue_enters_no_agent_and_several_do",
                "test_a_question_about_a_colleague_in_plain_words_stays_in_main",
            ],
            "routing/test_concepts.py": [
                "test_the_parsed_form_is_that_of_the_texts",
                "test_a_parsed_form_of_other_texts_is_ignored",
            ],
        },
    ),
    Promise(
        "Routing and the list of agents are available on the command line, for people and programs.",
        {
            "cli/look/test_route.py": [
                "test_a_batch_is_answered_line_by_line_and_outlives_bad_lines",
                "test_a_router_of_one_s_own_decides_by_its_scores",
                "test_the_list_and_the_directory_of_agents_are_written",
            ],
        },
    ),
)

CLAUDE = (
    Promise(
        "Real programs run against a scripted model, without a key, and leave nothing behind.",
        {
            "testing/test_model.py": [
                "test_the_first_matching_rule_answers_up_to_its_limit",
                "test_closing_cuts_all_connections_at_once_and_leaves_no_thread",
                "test_a_malformed_body_gets_400",
            ],
            "testing/test_claude_sandbox.py": ["test_a_process_that_survives_is_killed_and_named"],
            "acceptance/claude/test_offline.py": [
                "test_it_answers_from_the_script_and_asks_nothing_else",
                "test_a_subagent_is_told_from_main_by_its_id",
                "test_an_overload_and_a_cut_stream_are_tried_again",
                "test_nothing_is_written_outside_the_sandbox",
            ],
        },
    ),
    Promise(
        "One session of Claude Code takes many prompts, and each result belongs to its own prompt.",
        {
            "acceptance/claude/test_runtime.py": [
                "test_a_prompt_in_the_middle_of_a_tool_round_is_injected_and_has_one_result_with_it",
                "test_a_prompt_behind_the_last_word_is_queued_and_each_result_is_its_own",
                "test_what_comes_of_a_helper_in_the_background_is_no_answer_to_a_prompt",
                "test_it_has_musters_tools_and_the_session_calls_them",
            ],
            "runtimes/acp/test_private_folder.py": [
                "test_each_start_brings_the_persons_settings_back",
            ],
            "acceptance/makers/test_programs.py": [
                "test_a_confined_program_answers_and_the_kernel_refuses_its_writes_elsewhere",
            ],
            "runtimes/claude/test_own_paths.py": [
                "test_a_confined_session_reads_the_persons_settings_and_writes_its_own_folder",
            ],
            "runtimes/claude/test_parts.py": ["test_a_prompt_is_started_injected_or_queued"],
            "runtimes/claude/test_peer.py": [
                "test_requests_of_the_program_are_answered_and_can_be_given_up"
            ],
            "sessions/test_tools.py": [
                "test_no_argument_lets_a_session_act_as_another_agent",
                "test_a_turn_announced_during_other_work_does_not_end_with_that_work",
                "test_a_result_ends_a_forgotten_turn_with_a_warning_and_its_cost",
            ],
        },
    ),
    Promise(
        "Claude Code ends with all its children, resumes its conversation, and keeps its soul.",
        {
            "acceptance/claude/test_runtime_lives.py": [
                "test_killed_from_outside_it_is_resumed_and_nothing_runs_twice",
                "test_its_soul_is_in_every_request_also_after_compaction",
                "test_stop_now_ends_it_in_the_middle_with_all_it_started",
            ],
            "runtimes/claude/test_session.py": ["test_stop_now_asks_harder_each_time"],
        },
    ),
    Promise(
        "Every runtime passes one suite: prompts in order, interrupt, stop, crash, cost, approvals.",
        {
            "runtimes/conformance/test_conformance.py": [
                "test_prompts_are_answered_in_order_by_one_session",
                "test_an_interrupt_stops_the_work_and_not_the_session",
                "test_a_kill_leaves_no_process_behind",
                "test_an_approval_is_asked_for_and_its_answer_told",
                "test_a_conversation_goes_on_after_a_crash",
            ],
            "web/test_makers.py": ["test_agents_of_every_maker_take_turns_in_one_channel"],
            "acceptance/makers/test_setting_up.py": [
                "test_each_program_is_found_and_has_the_tools_until_they_are_removed"
            ],
            "cli/setup/checks/test_npm_version.py": [
                "test_a_program_has_the_version_of_its_package"
            ],
            "engine/test_importing.py": ["test_two_imports_never_run_at_the_same_time"],
            "acceptance/makers/test_programs.py": [
                "test_a_real_program_answers_asks_is_refused_and_is_interrupted"
            ],
            "acceptance/makers/test_once.py": [
                "test_a_real_one_shot_program_works_once_and_is_denied_a_write",
                "test_claude_code_works_once_and_is_denied_a_write",
            ],
            "runtimes/once/test_dialects.py": ["test_the_work_of_each_program_is_told"],
            "guides/test_frameworks.py": ["test_an_agent_of_a_framework_answers"],
        },
    ),
    Promise(
        "What is not allowed is told to every maker's agent with the reason, and it goes on.",
        {
            "acceptance/makers/test_one_team.py": [
                "test_agents_of_every_maker_are_denied_and_killed_and_go_on"
            ],
            "stress/test_makers_killed.py": [
                "test_a_message_is_answered_once_whatever_is_killed_in_whichever_phase"
            ],
            "sessions/test_session_policy.py": [
                "test_a_request_that_the_policy_denies_is_answered_with_its_rule",
                "test_what_the_settings_allow_is_judged_and_no_person_is_asked",
            ],
            "runtimes/acp/test_rules.py": [
                "test_an_agent_whose_work_ends_with_a_refusal_is_told_the_reason_and_goes_on",
                "test_an_agent_that_stops_its_work_by_itself_has_not_answered",
            ],
            "runtimes/codex/test_session.py": [
                "test_the_reason_of_a_refusal_is_steered_into_the_work"
            ],
            "machines/turns/test_messages.py": [
                "test_a_turn_whose_program_crashes_after_a_post_comes_again_with_its_messages"
            ],
        },
    ),
    Promise(
        "An agent of the Agent Client Protocol has no file written by muster without an approval.",
        {
            "runtimes/acp/test_rules.py": [
                "test_muster_writes_a_file_for_an_agent_only_after_an_approval",
                "test_edits_that_the_settings_allow_are_not_asked_about_in_the_working_directory",
                "test_meta_of_a_request_changes_nothing_of_what_is_written",
                "test_the_mode_is_set_in_every_conversation_and_an_unknown_one_is_refused",
            ],
        },
    ),
    Promise(
        "Codex is steered, asks muster for approvals, and runs its commands in its own sandbox.",
        {
            "runtimes/codex/test_session.py": [
                "test_a_message_in_the_middle_of_work_is_steered_into_it",
                "test_edits_that_the_settings_allow_are_not_asked_about",
                "test_the_sandbox_follows_the_confinement",
            ],
        },
    ),
    Promise(
        "A coroutine that raises or blocks ends its session, and not muster.",
        {
            "runtimes/python/test_session.py": [
                "test_what_a_coroutine_raises_is_in_the_log_with_its_trace",
                "test_a_coroutine_that_blocks_holds_nobody_up_and_is_not_started_twice",
            ],
        },
    ),
    Promise(
        "A message that a failed session left unanswered is handed over once more, and then waits"
        " for a person with the cause.",
        {
            "acceptance/claude/test_unanswered.py": [
                "test_a_message_that_a_model_error_ends_twice_waits_for_a_person_with_the_cause",
                "test_a_person_tries_again_and_the_failure_is_told_until_work_succeeds",
                "test_a_server_that_asks_for_a_pause_gets_it_and_the_message_waits",
                "test_a_message_is_answered_by_the_next_session_after_a_kill",
                "test_a_model_that_refuses_has_answered",
            ],
            "acceptance/claude/test_daily.py": [
                "test_a_model_error_in_a_turn_does_not_cost_the_place_in_the_channel",
                "test_a_turn_that_times_out_behind_other_work_is_not_worked_on",
                "test_a_turn_into_which_a_person_speaks_is_charged_to_the_channel_and_said_once",
                "test_an_agent_goes_on_with_the_conversation_in_which_it_was_born",
                "test_an_answer_that_was_cut_off_is_told_whole",
                "test_an_agent_of_the_settings_wakes_without_a_claim_that_it_chose_its_name",
            ],
            "acceptance/claude/test_by_hand.py": [
                "test_a_terminal_is_an_agent_that_is_messaged_kept_and_gone_when_it_ends",
            ],
            "claude_plugin/by_hand/test_sessions.py": [
                "test_it_comes_works_asks_stops_and_goes",
                "test_a_message_is_handed_over_with_the_next_prompt_and_answered",
                "test_a_message_in_the_middle_of_work_lets_it_go_on_when_it_stops",
                "test_a_process_that_is_gone_is_noticed_and_one_that_lives_stays",
                "test_its_usage_comes_from_its_transcripts_and_is_exact_at_the_end",
                "test_a_session_with_a_soul_is_told_of_it_and_a_disabled_one_is_left_alone",
            ],
            "machines/identity/test_hands.py": [
                "test_a_conversation_comes_back_to_its_seat_and_so_does_its_process",
                "test_another_conversation_takes_a_seat_only_if_nobody_needs_it",
                "test_its_work_is_told_and_its_usage_counted_once",
                "test_muster_neither_starts_nor_stops_it_and_grants_it_no_turns",
                "test_a_kept_session_gets_a_name_and_a_soul_at_once_or_not_at_all",
            ],
            "runtimes/test_prompted.py": ["test_a_prompt_that_waits_can_be_taken_back"],
            "machines/turns/test_unanswered.py": [
                "test_an_unanswered_message_is_handed_to_the_next_session_once",
                "test_a_person_tries_again_and_the_agent_starts_at_once",
                "test_a_failure_is_remembered_until_work_succeeds",
            ],
            "web/test_unanswered.py": [
                "test_a_person_sees_the_cause_and_tries_again",
                "test_the_command_line_tries_again",
            ],
        },
    ),
    Promise(
        "A person interrupts the work of an agent; its words and its session are kept.",
        {
            "acceptance/claude/test_interrupted.py": [
                "test_interrupted_work_stops_and_its_words_and_the_session_are_kept",
            ],
            "acceptance/claude/test_paused_turns.py": [
                "test_a_person_interrupts_the_holder_which_goes_on_with_the_message_at_the_release",
                "test_a_tool_call_is_interrupted_and_a_release_at_once_does_not_lose_the_message",
            ],
            "machines/turns/test_halted.py": [
                "test_a_person_who_interrupts_stops_the_work_and_the_holder_keeps_its_turn",
                "test_work_is_still_being_stopped_after_a_quick_release",
                "test_without_a_session_the_work_has_stopped",
            ],
            "machines/run_control/test_run_control.py": [
                "test_only_people_interrupt_an_agent_and_only_one_that_has_a_session",
            ],
        },
    ),
    Promise(
        "What an agent says after a helper that it left to work has ended reaches the person.",
        {
            "acceptance/claude/test_background.py": [
                "test_what_an_agent_says_after_its_helper_has_ended_reaches_the_chat",
            ],
        },
    ),
    Promise(
        "A failing model server is named as the reason, and a call without approval is not run.",
        {
            "acceptance/claude/test_runtime_faults.py": [
                "test_a_model_server_that_refuses_ends_the_session_with_the_reason",
                "test_a_model_server_that_is_not_there_is_named",
                "test_what_nobody_could_be_asked_about_is_not_allowed",
                "test_a_file_that_somebody_mentions_in_a_message_is_not_read",
            ],
        },
    ),
    Promise(
        "Real Claude Code sessions form a team: birth, turns, approvals and pauses work.",
        {
            "acceptance/claude/test_lead.py": [
                "test_a_real_lead_brings_a_team_to_life_and_wakes_it_after_its_own_death",
            ],
            "acceptance/claude/test_round.py": [
                "test_three_speak_in_turn_and_a_killed_one_wakes_with_its_soul_and_repeats_nothing",
            ],
            "acceptance/claude/test_team_story.py": [
                "test_the_lead_is_main_and_what_it_may_not_do_its_subagent_does",
                "test_a_person_is_asked_before_a_tool_is_used_and_the_agent_waits",
                "test_a_limit_pauses_it_before_its_next_turn_and_says_which",
                "test_an_idle_agent_asks_its_model_nothing_and_is_told_who_it_is_with_the_first_word",
            ],
        },
    ),
    Promise(
        "An agent that muster runs reaches no session that it did not start.",
        {
            "acceptance/claude/test_apart.py": [
                "test_an_agent_reaches_its_own_subagents_and_no_other_session"
            ],
            "claude_plugin/hooks/test_peers.py": [
                "test_other_sessions_cannot_be_sent_to_or_listed"
            ],
        },
    ),
    Promise(
        "Hooks turn an ordinary Claude Code into MAIN: forbidden calls are denied, all are logged.",
        {
            "claude_plugin/hooks/test_desk.py": [
                "test_main_is_denied_what_a_subagent_may",
                "test_a_recorded_session_with_a_subagent_is_told_in_every_file",
            ],
            "claude_plugin/hooks/test_desk_team.py": [
                "test_an_agent_that_still_has_the_turn_is_reminded_once"
            ],
            "claude_plugin/hooks/test_desk_hostile.py": [
                "test_hostile_names_and_texts_do_not_corrupt_the_record",
            ],
            "acceptance/claude/test_plugin_story.py": [
                "test_main_is_denied_what_its_subagent_may_and_the_files_tell_it",
            ],
            "acceptance/claude/test_typed_commands.py": [
                "test_commands_that_run_something_past_the_hooks_are_refused",
                "test_what_cannot_be_checked_is_not_expanded",
                "test_a_folder_that_is_swapped_for_another_is_not_believed",
            ],
            "claude_plugin/typed/test_surroundings.py": [
                "test_a_file_is_older_than_a_process_that_was_started_right_after",
            ],
            "claude_plugin/typed/test_past_hooks.py": [
                "test_what_a_typed_argument_may_complete_is_a_shell_command",
                "test_ordinary_texts_are_none",
            ],
            "acceptance/claude/test_interactive.py": [
                "test_what_a_person_types_is_followed_and_an_escape_is_no_riddle",
            ],
        },
    ),
    Promise(
        "Files that commands make outside of the outputs in Claude Code are recorded and listed.",
        {
            "delegation/following/test_files_around.py": [
                "test_a_file_that_a_command_of_an_agent_makes_is_recorded_once",
                "test_a_file_that_a_tool_wrote_is_not_recorded_again_unless_it_changed",
                "test_a_project_with_too_many_files_says_so",
            ],
            "acceptance/claude/test_default_path.py": [
                "test_a_file_that_a_command_of_an_agent_makes_in_the_project_is_listed",
            ],
        },
    ),
    Promise(
        "A conversation that another program leads is followed to its end, even if that is killed.",
        {
            "delegation/following/test_record.py": [
                "test_the_conversations_of_a_program_that_has_ended_are_closed",
                "test_a_conversation_stays_open_while_background_subagents_run",
                "test_an_answer_that_began_before_an_input_does_not_answer_it",
            ],
        },
    ),
    Promise(
        "A hook that decides fails closed, and a hook that observes never blocks.",
        {
            "claude_plugin/plugin/test_client.py": [
                "test_an_invalid_answer_denies_a_tool_call_and_no_other_hook_fails",
                "test_a_slow_way_that_cannot_be_gone_denies_a_tool_and_is_in_nobody_elses_way",
                "test_a_confined_hook_does_not_believe_another_program_on_the_port",
            ],
            "claude_plugin/hooks/test_server.py": [
                "test_inputs_and_answers_of_one_program_are_recorded_in_the_order_of_their_arrival",
                "test_a_desk_that_fails_denies_a_tool_and_is_in_nobody_elses_way",
                "test_muster_up_answers_hooks_and_a_killed_one_is_followed_by_one_that_does",
            ],
        },
    ),
    Promise(
        "Without a server, a daemon answers the hooks of a session; killing it loses nothing.",
        {
            "claude_plugin/hooks/test_daemon.py": [
                "test_the_first_hook_leaves_a_daemon_that_records_and_denies_until_the_program_ends",
                "test_a_daemon_that_is_killed_loses_nothing_and_the_next_hook_leaves_another",
                "test_a_daemon_gives_way_to_a_server_in_the_sessions_home",
            ],
        },
    ),
    Promise(
        "A session that a server had open is in force and recorded when the server has ended.",
        {
            "claude_plugin/hooks/test_daemon.py": [
                "test_the_session_of_a_team_is_in_force_and_recorded_after_its_server_was_killed",
                "test_the_next_server_continues_the_session_of_its_team_and_replaces_the_daemon",
            ],
            "claude_plugin/hooks/test_desk_team.py": [
                "test_the_teams_session_goes_on_without_its_server_and_in_the_next_one"
            ],
            "claude_plugin/plugin/test_client.py": [
                "test_the_session_of_a_team_without_a_server_is_judged_and_recorded",
                "test_a_server_that_is_killed_before_it_answers_is_followed_by_the_slow_way",
            ],
            "delegation/test_team_session.py": [
                "test_the_file_names_the_session_while_it_is_open",
                "test_a_session_whose_log_is_gone_is_in_force_until_it_is_forgotten",
            ],
            "delegation/test_visiting.py": [
                "test_a_log_is_opened_when_the_access_of_another_is_over"
            ],
        },
    ),
    Promise(
        "The plugin's commands are parsed by no shell, and installing it changes nothing else.",
        {
            "claude_plugin/plugin/test_plugin.py": [
                "test_the_text_after_a_command_is_not_read_by_a_shell"
            ],
            "cli/setup/test_claude_plugin.py": [
                "test_installing_and_removing_leave_everything_else_as_it_was",
                "test_an_ordinary_claude_has_the_commands_and_the_hooks_until_they_are_removed",
            ],
        },
    ),
)

APPROVALS = (
    Promise(
        "A call that needs approval waits for an operator's answer, never for an agent's.",
        {
            "acceptance/claude/test_permitted.py": [
                "test_a_call_that_is_allowed_for_longer_is_not_asked_about_again",
                "test_what_a_person_says_with_a_permission_reaches_the_model",
            ],
            "machines/test_approvals.py": [
                "test_the_timeout_of_the_turn_is_suspended_until_the_answer",
                "test_the_declared_default_applies_at_the_deadline",
                "test_the_end_of_the_session_withdraws_its_approvals",
            ],
            "http/routes/people/test_approvals.py": [
                "test_no_agent_and_no_viewer_may_answer_and_all_may_look",
                "test_a_request_is_answered_once_and_a_second_answer_is_refused",
                "test_what_nobody_answers_takes_its_declared_default",
                "test_a_permission_reaches_as_far_as_its_scope_says",
                "test_why_tells_a_turn_that_went_on_to_the_answer_and_to_the_request",
            ],
            "cli/act/test_approvals.py": [
                "test_a_person_sees_what_is_asked_and_allows_or_denies_it",
            ],
            "web/test_approvals.py": [
                "test_an_approval_request_appears_at_once_and_a_person_allows_it",
                "test_a_person_answers_with_the_keyboard_alone",
                "test_a_request_is_shown_as_text_with_invisible_characters_made_visible",
            ],
            "web/test_deliberate_answers.py": [
                "test_a_held_key_allows_one_request",
                "test_the_next_request_takes_keys_only_when_it_could_have_been_read",
                "test_a_request_that_is_answered_elsewhere_says_so_and_keeps_the_focus",
                "test_no_request_moves_to_where_the_pointer_is",
                "test_a_request_that_has_just_moved_does_not_take_a_press",
                "test_a_search_for_words_of_a_request_does_not_offer_to_allow_it",
                "test_a_note_survives_a_reload_and_a_checked_box_leaves_the_keys_alone",
            ],
            "machines/kernel/test_sentences.py": [
                "test_an_answered_approval_is_shown_with_its_agent"
            ],
        },
    ),
    Promise(
        "Usage is reported by agent, session, channel and conversation, and can be limited.",
        {
            "machines/test_spending.py": [
                "test_a_result_is_charged_to_session_agent_and_channel",
                "test_an_agent_that_reaches_a_limit_is_paused_before_its_next_turn",
                "test_a_channel_at_its_limit_rests_and_its_members_are_not_paused",
                "test_work_in_progress_counts_for_limits_at_once_and_is_interrupted_there",
                "test_work_without_a_result_is_paid_for_too",
            ],
            "acceptance/claude/test_budgets.py": [
                "test_a_limit_interrupts_the_work_and_everybody_is_told_why",
            ],
            "http/routes/test_costs.py": [
                "test_a_result_counts_for_its_agent_its_session_and_its_channel",
                "test_a_conversation_is_told_of_with_all_who_worked_on_it",
                "test_the_log_is_added_up_in_bounded_pieces_and_each_event_once",
            ],
            "cli/act/test_approvals.py": [
                "test_costs_are_shown_by_agent_session_and_channel",
            ],
            "web/test_approvals.py": [
                "test_costs_are_shown_only_where_there_is_usage",
            ],
        },
    ),
)

DOCUMENTED = (
    Promise(
        "Turns, tasks, work and tool calls are spans of OpenTelemetry, with their cost.",
        {
            "telemetry/test_exporting.py": [
                "test_a_turn_its_work_and_its_tool_calls_are_one_trace_and_words_stay_at_home",
                "test_with_content_the_words_are_sent",
            ],
            "telemetry/test_service.py": [
                "test_commits_are_exported_together_after_a_pause_and_the_last_ones_at_the_end",
                "test_a_collector_that_is_away_is_told_of_once_and_gets_everything_when_it_is_back",
                "test_what_waits_for_the_collector_is_bounded",
                "test_without_the_extra_the_line_that_installs_it_is_told",
            ],
            "telemetry/test_spans.py": [
                "test_a_task_is_a_span_of_its_conversation_and_its_work_is_below_it",
                "test_an_agent_cannot_open_spans_without_end",
            ],
        },
    ),
    Promise(
        "A container image is built from the repository alone, and runs without privileges.",
        {
            "tidy/test_release.py": [
                "test_the_image_is_built_from_files_of_the_repository_and_runs_without_privileges"
            ],
        },
    ),
    Promise(
        "The documentation is a site with every page, which loads nothing from elsewhere.",
        {
            "tidy/test_site.py": [
                "test_the_navigation_of_the_site_has_every_document_once",
                "test_a_link_of_a_page_to_a_document_of_the_root_stays_in_the_site",
                "test_a_link_of_a_document_of_the_root_is_a_page_or_its_text",
                "test_a_part_of_a_page_that_comes_from_elsewhere_is_found",
            ],
        },
    ),
    Promise(
        "A test runs every example of the README and the guides, or a table gives the reason.",
        {
            "guides/test_guides.py": [
                "test_every_code_block_of_a_document_has_a_step",
                "test_the_examples_of_a_document_run",
            ],
        },
    ),
    Promise(
        "`muster doctor` looks for Claude Code where its runtime does, and for every package.",
        {
            "cli/test_main.py": [
                "test_doctor_looks_for_claude_code_where_its_runtime_does",
                "test_doctor_tells_the_version_of_every_package_that_muster_requires",
            ],
        },
    ),
)

HOLDING = (
    Promise(
        "A birth that failed says why, and its seat can be summoned again.",
        {
            "views/run/test_badges.py": [
                "test_a_birth_that_failed_says_why",
                "test_a_birth_that_is_tried_again_says_when",
            ],
            "web/test_team.py": [
                "test_a_birth_that_failed_says_why_and_is_summoned_again",
                "test_an_agent_is_retired_and_brought_back_on_the_page",
            ],
        },
    ),
    Promise(
        "Every wake is on record, and a woken agent can be asked who it is.",
        {
            "machines/identity/test_wakes.py": [
                "test_a_wake_is_on_record_with_what_was_given_and_left_out",
                "test_an_answer_is_compared_with_name_and_soul",
                "test_a_result_without_an_answer_is_no_answer_and_a_late_one_counts",
                "test_the_wake_through_a_lead_is_on_record_too",
            ],
            "views/memory/test_digest.py": [
                "test_each_earlier_session_has_its_words_decisions_and_files",
                "test_the_setting_says_how_much_is_handed_over",
                "test_a_digest_is_bounded_and_keeps_the_newest_sessions",
            ],
            "machines/run_control/test_births.py": [
                "test_a_birth_that_failed_is_retried_when_that_was_promised",
                "test_no_birth_is_retried_after_its_seat_has_expired",
                "test_the_session_of_an_expired_birth_is_stopped",
                "test_a_seat_that_is_summoned_again_gets_a_new_session",
            ],
            "views/memory/test_sent.py": [
                "test_an_agent_remembers_what_it_said_to_another_one",
                "test_it_remembers_that_on_another_machine_too",
            ],
            "views/memory/test_unanswered.py": [
                "test_a_message_that_nobody_answered_leaves_the_last_session_as_it_was",
                "test_a_session_that_answered_something_ends_before_what_it_did_not",
                "test_a_message_to_an_agent_that_sleeps_after_a_silent_session_takes_nothing_away",
            ],
            "machines/teams/test_births.py": [
                "test_a_message_is_of_the_birth_that_it_names",
                "test_a_seat_had_another_agent_until_the_merge_that_gave_it_away",
            ],
            "views/memory/test_namesakes.py": [
                "test_an_agent_that_wins_the_seat_of_its_namesake_gets_nothing_that_was_for_it",
                "test_words_of_a_namesake_that_lost_elsewhere_are_not_remembered_here",
                "test_an_agent_keeps_its_folder_when_it_was_renamed_elsewhere",
                "test_a_soul_that_waits_for_its_agent_to_sleep_is_one_version_and_has_not_lost",
            ],
            "views/memory/test_lives.py": [
                "test_every_session_here_and_elsewhere_is_remembered_once_in_order_of_time",
                "test_a_machine_without_words_of_its_own_remembers_every_imported_session",
                "test_the_bound_of_the_digest_counts_imported_sessions_too",
                "test_an_imported_date_of_the_future_does_not_stand_before_what_is_said_here_later",
            ],
            "acceptance/test_wakes.py": [
                "test_every_wake_is_on_record_and_a_woken_agent_says_who_it_is",
            ],
        },
    ),
    Promise(
        "An agent's notes and every version of its soul outlast its sessions.",
        {
            "machines/identity/test_memory.py": [
                "test_notes_are_kept_in_order_and_their_numbers_only_grow",
                "test_an_agent_notes_and_forgets_for_itself_alone",
                "test_a_full_memory_says_so_and_has_room_after_a_note_is_forgotten",
                "test_only_people_edit_a_soul_and_each_edit_is_a_fact",
            ],
            "http/routes/content/test_memory.py": [
                "test_a_person_adds_edits_and_deletes_notes",
                "test_an_edited_soul_keeps_its_history_with_differences",
                "test_a_person_chooses_between_two_souls_after_a_merge",
                "test_the_command_line_reads_and_changes_the_memory",
                "test_an_agent_remembers_by_tool_and_by_marker_and_is_told_when_it_wakes",
            ],
            "views/memory/test_souls.py": [
                "test_an_imported_version_has_its_own_time_and_author_and_the_local_loser_is_marked",
                "test_an_imported_version_that_lost_has_its_own_time_and_author",
                "test_an_edit_from_another_machine_marks_the_soul_before_it_only_where_two_edits_met",
            ],
        },
    ),
    Promise(
        "Under a Claude Code lead every agent is a session of its own, and stays itself.",
        {
            "acceptance/claude/test_hosted.py": [
                "test_agents_of_a_real_lead_are_sessions_of_their_own_and_stay_themselves",
            ],
            "machines/identity/test_hosted.py": [
                "test_a_birth_by_the_lead_starts_a_session_of_its_own",
                "test_the_end_of_the_lead_s_session_leaves_its_agents_alone",
                "test_the_lead_is_told_of_every_end_while_it_is_there",
                "test_agents_that_write_to_each_other_come_to_an_end_until_a_person_speaks",
            ],
        },
    ),
    Promise(
        "No step of muster holds its event loop unnoticed, whatever a verb does to an agent.",
        {
            "engine/test_watchdog.py": [
                "test_a_loop_that_does_not_yield_is_an_error_with_its_place",
                "test_a_loop_that_got_no_cpu_time_is_one_line_without_a_stack",
                "test_a_loop_that_yields_is_never_reported",
            ],
            "stress/test_hostile.py": [
                "test_health_answers_in_time_under_every_kind_of_hostile_input",
            ],
            "mirrors/inbox_file/test_format.py": [
                "test_an_inbox_with_too_many_values_is_malformed_as_a_whole",
            ],
            "views/memory/test_wake_payload.py": [
                "test_of_a_long_session_only_the_newest_messages_are_read",
            ],
            "http/test_protocol.py": [
                "test_the_oldest_of_too_many_unfinished_requests_is_ended",
            ],
            "http/test_server.py": ["test_a_full_file_table_is_one_line_and_the_server_goes_on"],
            "sessions/test_session_policy.py": [
                "test_a_request_that_takes_too_long_to_judge_is_denied_in_the_worker",
                "test_a_request_that_takes_too_long_to_describe_is_asked_without_facts",
            ],
            "worker/test_process.py": [
                "test_a_call_that_is_over_its_cpu_time_is_ended_and_the_worker_goes_on",
                "test_a_call_that_handles_every_exception_is_ended_all_the_same",
                "test_the_start_of_a_worker_does_not_count_as_time_of_its_first_call",
                "test_a_call_that_does_not_end_is_killed_and_the_next_one_is_answered",
                "test_the_event_loop_takes_its_steps_meanwhile",
            ],
            "acceptance/claude/test_liveness.py": [
                "test_health_answers_in_time_throughout_every_verb_against_claude_code",
            ],
            "acceptance/test_liveness.py": [
                "test_health_answers_in_time_throughout_every_verb_against_every_agent",
            ],
        },
    ),
    Promise(
        "No text of an agent or of another machine wedges muster or is lost silently.",
        {
            "identity/test_hostile.py": [
                "test_no_marker_hangs_muster_or_is_lost_without_a_word",
                "test_no_document_hangs_muster_or_breaks_the_team",
            ],
            "sessions/test_intake.py": [
                "test_what_the_store_refuses_twice_is_set_aside_on_record_and_the_next_line_is_heard",
                "test_a_store_that_takes_nothing_at_all_is_tried_until_it_does",
            ],
            "machines/identity/test_bounds.py": [
                "test_a_registration_out_of_bounds_is_refused",
                "test_a_summon_or_an_enrolment_out_of_bounds_is_refused",
                "test_enrolled_agents_do_not_stand_in_the_way_of_a_summon",
                "test_a_single_seat_is_summoned_again_beside_the_others",
                "test_a_lead_that_reports_nobody_leaves_no_wish_unanswered",
            ],
        },
    ),
    Promise(
        "Every agent can be woken whatever the size of its memory, and its lead is asked once.",
        {
            "machines/identity/test_waking.py": [
                "test_six_wakes_at_once_ask_the_lead_once",
                "test_a_start_of_a_sleeper_tells_the_lead_what_a_wake_would",
                "test_a_disabled_agent_of_a_lead_is_not_woken_and_its_lead_is_told_to_stop_it",
                "test_a_summon_starts_a_lead_that_sleeps",
                "test_payloads_of_any_number_and_size_fit_into_messages_and_none_is_lost",
            ],
            "views/memory/test_wake_payload.py": [
                "test_the_largest_soul_is_always_whole_and_the_words_that_fit_are_beside_it",
                "test_of_a_message_that_is_too_long_the_end_is_kept",
                "test_a_line_break_cannot_forge_a_speaker",
                "test_any_text_is_well_formed_xml_and_of_bounded_size",
                "test_every_field_of_the_document_is_in_the_payload",
                "test_words_of_another_agent_that_had_the_seat_are_not_its_memory",
                "test_a_transcript_has_both_halves_of_a_conversation_in_a_channel",
            ],
        },
    ),
)

WORK = (
    Promise(
        "A person sees an agent work: tool calls, results, durations and changes of files, live.",
        {
            "web/test_work.py": [
                "test_tool_calls_are_shown_live_with_result_duration_and_difference",
                "test_hostile_and_cut_input_is_shown_as_text",
            ],
        },
    ),
    Promise(
        "The plan of an agent is a checklist that is kept up to date.",
        {
            "web/test_work.py": [
                "test_the_header_says_where_it_works_and_the_plan_is_a_checklist",
            ],
            "runtimes/test_plans.py": [
                "test_the_to_do_list_of_claude_code_is_a_plan",
                "test_the_task_list_of_claude_code_is_a_plan",
                "test_tasks_that_were_made_before_are_known_once_they_are_listed",
                "test_a_plan_of_an_agent_that_speaks_acp",
                "test_a_plan_of_codex",
                "test_a_plan_is_bounded_and_can_be_anything",
            ],
        },
    ),
)

NEEDS = (
    Promise(
        "A runaway is paused, and a person decides how it goes on; every day has its limits.",
        {
            "machines/breaker/test_breaker.py": [
                "test_a_rate_counts_what_was_spent_after_the_first_piece_of_work",
                "test_messages_are_alike_if_most_of_their_words_are_the_same",
                "test_two_agents_that_agree_for_ever_are_paused_and_a_person_decides",
                "test_an_agent_that_burns_money_is_paused_and_a_person_lets_it_go_on",
                "test_an_agent_is_paused_at_the_limit_of_a_day",
            ],
            "web/test_runaway.py": [
                "test_a_runaway_is_paused_and_a_person_lets_it_go_on_and_ends_it",
            ],
        },
    ),
    Promise(
        "A request for approval shows what it does, and who allowed what stays on record.",
        {
            "sessions/test_request_facts.py": [
                "test_the_effects_of_a_command_line_are_told",
                "test_an_edit_is_shown_as_a_difference",
                "test_an_edit_that_does_not_fit_the_file_is_shown_as_it_was_given",
                "test_a_write_shows_what_goes_and_what_comes",
            ],
            "cli/act/test_approvals.py": [
                "test_several_are_answered_at_once_and_the_history_says_who_allowed_what",
            ],
            "web/test_approvals.py": [
                "test_a_request_shows_where_it_acts_what_it_does_and_what_it_changes",
                "test_a_permission_reaches_as_far_as_a_person_says_and_is_kept_in_the_history",
                "test_several_requests_are_answered_at_once_and_one_is_put_off",
            ],
        },
    ),
    Promise(
        "The page is light, can be installed, and shows in a channel what is new.",
        {
            "web/test_shell.py": [
                "test_the_page_is_light_and_its_comments_are_not_sent",
                "test_the_page_can_be_installed",
            ],
            "web/test_channel_messages.py": [
                "test_messages_that_nobody_has_seen_are_below_a_line_and_one_is_copied",
            ],
        },
    ),
    Promise(
        "The story of the demo is real but for its words: a bug that is there, and a check.",
        {
            "demo/test_story.py": [
                "test_the_check_of_a_bug_fails_before_its_correction_and_passes_after",
                "test_every_message_of_a_chapter_is_about_its_bug_and_meets_an_answer",
                "test_the_story_begins_again_after_its_last_bug",
            ],
        },
    ),
    Promise(
        "Time shows the work of each agent, and plays it again.",
        {
            "views/content/test_work.py": [
                "test_a_tool_call_is_a_bar_from_its_beginning_to_its_end",
                "test_messages_approvals_and_failures_are_marks_of_their_agent",
                "test_failures_that_are_too_close_to_be_drawn_are_one_mark_with_their_number",
                "test_costs_are_drawn_in_parts_of_the_time",
            ],
            "web/test_time.py": [
                "test_the_work_is_drawn_by_agent_and_replayed",
                "test_a_word_is_found_in_events_that_are_older_than_the_page",
            ],
        },
    ),
    Promise(
        "The page of an agent follows its agent through renames, and loses no text that is typed.",
        {
            "web/test_agent_renamed.py": [
                "test_an_open_page_stays_with_its_agent_when_another_one_takes_the_name",
                "test_reload_and_back_lead_to_the_agent_that_was_shown_whatever_it_is_called_now",
                "test_the_page_of_an_egg_is_that_of_the_agent_that_hatches",
                "test_text_typed_into_notes_survives_what_others_do_to_notes",
                "test_a_draft_and_a_field_that_is_being_edited_survive_live_updates",
            ],
            "web/test_work.py": [
                "test_a_first_tool_call_does_not_take_the_search_from_a_person_who_types",
            ],
            "http/routes/test_agent_tables.py": [
                "test_settings_of_an_agent_are_edited_by_its_document_whatever_it_is_called",
            ],
        },
    ),
    Promise(
        "A table is run as the agent that it was about: when it comes back, changes its name, or "
        "was copied from elsewhere.",
        {
            "acceptance/test_tables.py": [
                "test_a_table_that_comes_back_under_a_new_name_while_muster_runs",
                "test_a_table_that_comes_back_under_a_new_name_while_muster_is_down",
                "test_an_import_meanwhile_brings_no_second_one",
                "test_an_agent_that_another_machine_renamed_comes_back_by_its_table",
                "test_by_the_command_line_an_agent_is_removed_added_and_renamed",
                "test_two_tables_that_exchange_their_names_while_muster_is_down_keep_their_agents",
                "test_names_are_not_exchanged_while_the_agents_run_and_nothing_is_mixed_up",
                "test_a_copied_table_with_a_former_name_leaves_the_agent_of_a_lead_alone",
            ],
        },
    ),
    Promise(
        "An agent that lost its chosen name in a merge gets it back as soon as it is free.",
        {
            "machines/teams/test_regaining.py": [
                "test_a_rename_of_the_other_gives_the_chosen_name_back",
                "test_a_retirement_of_the_other_gives_the_chosen_name_back",
                "test_an_agent_that_runs_gets_its_chosen_name_when_it_sleeps",
                "test_a_name_that_a_running_program_knows_is_free_when_it_sleeps",
                "test_an_agent_that_a_person_renamed_or_a_table_names_keeps_its_name",
                "test_two_machines_agree_after_a_name_came_back_on_one",
            ],
        },
    ),
    Promise(
        "Texts are compared in bounded time, off the event loop, with an honest fallback.",
        {
            "test_differences.py": [
                "test_a_small_difference_leads_from_one_text_to_the_other",
                "test_what_is_too_large_is_shown_as_a_whole_and_says_so",
                "test_an_edit_looks_as_in_every_unified_diff",
                "test_large_texts_take_a_bounded_time",
            ],
            "http/routes/content/test_memory.py": [
                "test_large_souls_are_compared_without_holding_up_anybody",
                "test_many_large_souls_are_compared_in_bounded_time_the_newest_first",
            ],
        },
    ),
    Promise(
        "The palette goes anywhere and does what it is told; single keys can be turned off.",
        {
            "web/test_search.py": [
                "test_the_palette_opens_in_a_text_field_too_and_goes_to_an_event",
                "test_shortcuts_of_a_single_key_are_turned_off_and_on_in_the_palette",
            ],
            "web/test_agent.py": [
                "test_output_has_the_colours_of_a_terminal_sessions_and_a_search",
                "test_a_stop_is_taken_back_within_some_seconds",
            ],
        },
    ),
    Promise(
        "A task is cancelled, run again and continued, and stands on a board.",
        {
            "machines/delegation/test_delegation.py": [
                "test_a_request_that_is_cancelled_ends_wherever_it_is",
                "test_only_a_person_cancels_and_not_what_another_program_leads",
            ],
            "machines/run_control/test_tasks.py": [
                "test_the_work_on_a_request_that_is_cancelled_is_stopped_and_no_other",
            ],
            "http/routes/test_conversations.py": [
                "test_a_request_goes_on_from_an_earlier_one_and_is_cancelled",
            ],
            "cli/delegate/test_cancel.py": [
                "test_a_task_is_cancelled_by_its_number_and_the_program_ends",
            ],
            "web/test_conversations.py": [
                "test_the_board_shows_each_task_where_it_stands_and_cancels_it",
                "test_a_task_is_continued_by_the_agent_that_did_it",
            ],
        },
    ),
    Promise(
        "What was done, asked and spent, and what failed, is told since a person last looked.",
        {
            "machines/needs/test_needs.py": [
                "test_each_person_has_looked_at_the_team_up_to_a_place_that_only_moves_forward",
                "test_who_looked_longest_ago_is_forgotten_where_too_many_have_looked",
            ],
            "views/content/test_since.py": [
                "test_requests_are_told_by_their_text_with_how_they_ended",
                "test_an_agent_that_fails_again_and_again_is_one_entry_with_its_last_reason",
                "test_a_session_that_ends_well_is_no_entry",
                "test_what_agents_asked_is_told_with_the_answer",
                "test_a_turn_that_waits_for_a_person_is_a_question_and_other_waits_are_not",
                "test_costs_are_added_up_and_drawn_over_the_time",
                "test_messages_are_counted_by_channel_and_the_newest_entries_are_told",
                "test_each_person_has_looked_up_to_a_place_of_their_own",
            ],
            "http/routes/people/test_since.py": [
                "test_the_digest_begins_where_the_person_last_looked",
                "test_the_command_line_tells_the_same",
            ],
            "web/test_since.py": [
                "test_the_page_tells_what_happened_since_it_was_left_until_it_is_read",
            ],
        },
    ),
    Promise(
        "What needs a person is listed, complete, the same for every client, until it is answered.",
        {
            "machines/needs/test_needs.py": [
                "test_a_team_that_works_needs_nobody",
                "test_an_approval_is_listed_until_it_is_answered",
                "test_a_question_in_a_turn_and_an_interruption_are_listed_while_the_turn_waits",
                "test_a_single_failure_is_tried_again_without_a_person_and_a_second_one_needs_one",
                "test_a_message_that_two_sessions_left_unanswered_is_listed_with_the_cause",
                "test_a_failed_single_run_is_listed_until_it_is_done_and_the_next_failure_is_listed_again",
                "test_a_reached_budget_is_listed_with_its_note",
                "test_a_conversation_that_ended_at_a_limit_is_listed_until_it_goes_on",
                "test_an_archived_channel_and_a_retired_agent_need_nobody",
                "test_an_agent_that_does_not_do_what_is_wanted_is_stuck_after_a_while",
                "test_an_agent_that_connects_by_itself_is_not_stuck_while_it_is_away",
                "test_a_report_that_is_contradicted_is_listed_until_there_is_newer_evidence",
                "test_a_request_that_failed_is_listed_until_it_is_done",
                "test_only_the_newest_failed_requests_are_kept",
                "test_all_unseen_messages_of_an_agent_are_listed_as_one_need_whoever_began",
                "test_a_message_that_names_the_person_is_listed_wherever_it_is_said",
                "test_messages_are_seen_up_to_a_place_that_only_moves_forward",
                "test_a_message_that_is_done_was_seen",
                "test_what_is_put_off_comes_back_and_can_be_reopened_before",
                "test_the_time_is_bounded",
                "test_only_what_is_listed_can_be_put_aside_and_only_by_people",
                "test_the_oldest_of_what_was_put_aside_is_forgotten",
                "test_the_most_urgent_comes_first_and_of_a_kind_the_oldest",
            ],
            "http/routes/people/test_needs.py": [
                "test_an_approval_is_listed_with_all_that_a_client_needs_and_goes_with_its_answer",
                "test_what_is_put_off_is_counted_comes_back_and_is_taken_back",
                "test_a_message_to_the_person_is_unread_until_it_was_seen_anywhere",
            ],
            "cli/look/test_needs.py": [
                "test_each_need_comes_with_the_command_that_answers_it",
            ],
            "web/test_team.py": [
                "test_an_answer_to_a_person_is_unread_until_it_was_seen",
                "test_an_answer_is_written_in_the_list_and_ends_the_need",
            ],
        },
    ),
)

WORKSPACES = (
    Promise(
        "An agent or a task works in a git worktree of its own, in every runtime.",
        {
            "workspaces/test_making.py": [
                "test_an_agent_gets_a_worktree_on_a_branch_of_its_own_and_the_same_one_again",
                "test_a_home_in_the_work_tree_does_not_show_its_worktrees_to_git",
                "test_the_agents_of_a_conversation_share_one_worktree",
                "test_a_task_is_called_by_its_number",
                "test_a_branch_or_a_folder_that_exists_is_never_used",
                "test_an_agent_that_takes_the_former_name_of_another_gets_a_branch_of_its_own",
                "test_the_working_directory_in_a_repository_is_the_same_in_the_worktree",
                "test_a_worktree_that_cannot_be_made_says_why_and_leaves_nothing",
                "test_a_detached_head_is_a_beginning_without_a_target",
                "test_a_worktree_that_its_agent_deleted_is_no_working_directory",
                "test_a_worktree_that_was_half_made_at_a_crash_is_made_again",
            ],
            "runtimes/conformance/test_conformance.py": [
                "test_a_session_with_a_worktree_works_in_it",
            ],
        },
    ),
    Promise(
        "A person merges, rebases and discards changes; a conflict changes nothing, and no unmerged"
        " work is lost.",
        {
            "workspaces/test_merging.py": [
                "test_a_merge_takes_commits_and_what_is_not_committed",
                "test_an_agent_goes_on_in_its_worktree_and_is_merged_again",
                "test_a_worktree_without_changes_has_nothing_to_merge",
                "test_a_conflict_names_the_files_and_changes_nothing",
                "test_a_rebase_brings_the_branch_up_to_date",
                "test_a_merge_never_touches_what_a_person_has_not_committed",
                "test_uncommitted_work_in_other_files_is_no_obstacle",
                "test_a_branch_that_nobody_has_checked_out_is_merged_into_as_well",
                "test_a_beginning_on_no_branch_is_merged_into_the_branch_that_a_person_is_on",
                "test_what_a_person_merged_by_hand_counts_as_merged",
                "test_an_agent_decides_nothing_about_its_changes",
                "test_a_workspace_is_not_discarded_while_a_session_works_in_it",
                "test_unmerged_work_is_discarded_only_with_force_and_can_be_restored",
                "test_a_discard_removes_links_and_not_what_they_lead_to",
                "test_a_folder_that_a_worktree_was_replaced_with_is_removed_as_a_link",
                "test_changes_are_counted_at_the_end_of_a_session",
                "test_the_worktree_of_a_retired_agent_is_removed_only_without_unmerged_work",
                "test_a_step_that_a_crash_interrupted_is_settled_by_what_git_says",
                "test_a_rebase_that_a_crash_left_under_way_is_aborted",
                "test_a_discard_that_a_crash_interrupted_is_ended_only_if_it_had_begun",
                "test_unmerged_commits_survive_a_worktree_that_its_agent_deleted",
            ],
            "machines/workspaces/test_workspaces.py": [
                "test_a_workspace_is_planned_then_made_and_planned_once",
                "test_a_workspace_that_could_not_be_made_is_forgotten",
                "test_one_step_at_a_time_and_a_failed_one_leaves_it_open",
                "test_a_merge_is_recorded_with_its_commit_and_clears_what_was_wrong",
                "test_a_rebase_is_recorded",
                "test_only_so_many_files_in_conflict_are_recorded",
                "test_agents_decide_nothing_and_muster_only_removes_what_nobody_needs",
                "test_a_workspace_in_which_a_session_works_is_not_discarded",
                "test_a_discarded_workspace_is_remembered_and_its_name_is_free",
                "test_a_merged_workspace_keeps_its_merge_when_it_is_removed",
                "test_unmerged_work_after_a_merge_is_what_a_discard_removes",
                "test_only_the_newest_closed_workspaces_are_remembered",
                "test_changes_that_are_counted_again_alike_are_no_news",
                "test_changes_of_a_finished_task_need_a_person_until_they_are_merged",
                "test_another_task_goes_on_in_the_workspace_of_a_finished_one",
            ],
        },
    ),
    Promise(
        "Changes are shown as they are, and nothing of a hostile repository is run.",
        {
            "workspaces/test_hostile.py": [
                "test_files_with_any_name_are_listed_compared_and_merged",
                "test_a_conflict_in_a_file_whose_name_is_no_text_is_told",
                "test_binary_huge_renamed_and_deleted_files_and_links_are_said",
                "test_a_file_too_large_to_compare_is_only_named",
                "test_other_workspaces_that_change_the_same_file_are_named",
                "test_no_program_of_a_repository_is_run",
                "test_variables_of_muster_do_not_lead_git_elsewhere",
                "test_git_that_takes_too_long_or_says_too_much_is_ended",
                "test_without_git_the_reason_is_told",
                "test_a_git_file_that_the_agent_deleted_or_replaced_changes_nothing",
                "test_work_on_another_branch_is_told_and_never_lost",
                "test_a_locked_index_stops_a_merge_and_not_the_look",
                "test_a_repository_in_the_worktree_is_not_merged_as_an_empty_link",
                "test_conflicts_that_an_agent_has_not_resolved_are_not_committed",
                "test_looking_writes_nothing_into_the_repository",
                "test_a_worktree_that_is_gone_shows_what_was_committed",
                "test_a_closed_workspace_still_shows_what_it_had_changed",
                "test_a_shared_folder_shows_what_git_sees_and_which_files_tool_calls_named",
                "test_a_folder_without_git_or_without_a_commit_says_so",
            ],
        },
    ),
    Promise(
        "Changes are seen and decided about on the page, over HTTP and from a shell.",
        {
            "web/test_changes.py": [
                "test_changes_are_shown_asked_about_and_merged",
                "test_a_conflict_is_told_with_its_files_and_a_rebase_is_offered",
                "test_a_task_is_reviewed_and_discarded_on_its_page",
                "test_changes_are_easy_to_use_on_a_desk_and_on_a_phone",
            ],
            "acceptance/claude/test_merged_story.py": [
                "test_two_claude_codes_write_in_worktrees_and_a_person_merges_both_on_the_page",
            ],
            "workspaces/test_turns.py": [
                "test_each_turn_has_its_own_changes_and_touches_nothing_of_the_agent",
                "test_a_merge_is_no_turn_and_the_turns_go_with_the_worktree",
                "test_the_facts_that_end_a_turn",
                "test_submodules_and_lfs_pointers_are_read_as_they_are",
            ],
            "workspaces/test_killed.py": [
                "test_a_step_that_was_killed_is_settled_and_can_be_done_again",
                "test_a_step_has_an_end_when_git_has_ended_and_not_before",
            ],
            "workspaces/test_whole.py": [
                "test_an_agent_works_in_its_worktree_and_a_person_merges_it",
                "test_an_agent_cannot_merge_its_own_work",
                "test_a_shared_folder_says_what_git_sees",
                "test_a_task_is_reviewed_changed_again_and_merged",
                "test_a_task_without_changes_leaves_no_worktree",
                "test_discarding_asks_and_keeps_the_last_commit",
            ],
        },
    ),
)

PROMISES = (
    *HOLDING,
    *CLAUDE,
    *DOCUMENTED,
    *APPROVALS,
    *MISSION_CONTROL,
    *PAST,
    *DELEGATING,
    *DEMO,
    *TALKING_TO_EACH,
    *PERMISSIONS,
    *ROUTING,
    *SUPERVISION,
    *CLIENTS,
    *TALKING,
    *TURNS,
    *RUN_CONTROL,
    *LIFE,
    *IDENTITY,
    *DELEGATION,
    *LOG,
    *SERVICES,
    *MCP,
    *EDGES,
    *WHO_MAY,
    *NEEDS,
    *WORK,
    *WORKSPACES,
)
