"""What the safety rules must say, written by hand: tool names, statements of servers, argument shapes."""

from __future__ import annotations

from typing import Any

READ = """
list list_issues list_closed_issues list_pull_requests list_all list_commits list_branches list_tags
list_users list_projects list_directory list_allowed_directories list_tables list_runs list_sets
list_updates list_removed_items list_merged_pulls list_created_between list_publishers list_senders
list_patches list_movements list_runners get get_issue get_closed_issues get_me get_file_contents
get_pull_request_diff get_user_profile get_current_time get_settings get_address get_additional_info
get_creation_date get_updater get_latest_release get_workflow_runs get_published_posts get_renamed_files
get_archived_threads get_rundown get_runtime get_setup get_offset get_asset search search_issues search_code
search_repositories search_nodes search_files search_users search_closed read read_file read_text_file
read_media_file read_multiple_files read_graph read_resource read_inserted_rows show show_branch show_log
show_status show_config query query_database query_metrics query_logs fetch fetch_page fetch_url
fetch_closed_tickets describe describe_table describe_index describe_stack count count_rows
count_open_issues count_removed head head_object head_bucket inspect inspect_container inspect_schema peek
peek_queue peek_message status status_of_job status_check exists exists_key exists_path diff diff_branches
diff_staged GET_ISSUE List_Issues get_issue_2 list_v2_items get__double search_ read_1 get_orders_cancelled
list_closing_dates get_execution_history get_runner_group list_executions get_mergeable_state
""".split()  # noqa: SIM905

MUTATING = """
create create_issue create_pull_request create_branch create_entities create_directory create_or_update_file
write write_file write_text write_rows delete delete_issue delete_entities delete_repo
delete_branch_protection update update_issue update_record update_pull_request_branch push push_files
push_tag publish publish_post publish_package send send_email send_message send_invite set set_status
set_secret add add_comment add_observations add_label remove remove_label remove_member replace replace_text
apply apply_patch apply_migration run run_query run_workflow run_tests execute execute_sql execute_command
move move_file move_card rename rename_file rename_branch patch patch_resource insert insert_rows
insert_document merge merge_pull_request merge_branches close close_issue close_connection cancel cancel_job
cancel_subscription archive archive_project archive_thread revoke revoke_token upload upload_file
upload_asset ingest ingest_documents ingest_events get_or_create_issue get_or_create list_and_delete
read_and_write search_and_replace fetch_and_set query_and_update show_and_close get_then_delete
list_then_archive find_and_replace bulk_update batch_delete issue_create repo_delete git_add git_push
git_merge git_apply db_insert db_run user_add user_remove page_move page_rename file_upload job_cancel
job_run message_send message_publish key_set key_revoke table_close cache_write config_set index_ingest
row_patch DELETE_ISSUE Delete_Everything get_Create_thing _delete delete_ __create__ toggle_and_run
status_update exists_or_create diff_and_apply head_and_write count_and_close describe_and_execute
peek_and_remove inspect_and_patch read_merge fetch_archive get_cancel list_upload
""".split()  # noqa: SIM905

UNDECIDED = """
frobnicate toggle toggle_logging trigger_operation open open_nodes open_url browser_navigate browser_click
click navigate screenshot ping echo convert_time convert git_status git_log git_diff directory_tree tree
find find_nodes find_symbol lookup lookup_user view view_file scan scan_repo check check_health validate
validate_schema explain summarize translate resolve resolve_library analyze analyze_code simulate_query
print_env print whoami help info login logout subscribe unsubscribe watch wait sleep start stop restart
pause resume enable disable lock unlock approve reject assign unassign invite transfer deploy rollback
restore reset revert sync import export copy clone fork commit checkout rebase stash tag submit complete
edit edit_file modify modify_record save save_page destroy drop drop_table truncate purge clear erase grant
assume book order buy pay refund listIssues getIssue searchCode readFile get-sum get-env list-issues
read-file list.issues get.user getissue listissues reads reader gets creates created updater issue_get
repo_list files_read get-and-delete getOrCreateIssue deleteIssue createIssue delete-issue delete.issue
get_users-delete get_orCreate list_AddOns read_x.write fetch_RunNow show_closeIssue
""".split()  # noqa: SIM905

READ_HINT = {"readOnlyHint": True}
WRITE_HINT = {"readOnlyHint": False}
DESTRUCTIVE = {"destructiveHint": True}

STATED: list[tuple[str, str, dict[str, Any], str]] = [
    # (name, description, annotations, effect)
    ("run_query", "Runs a query on a read-only replica. This tool is read-only.", {}, "mutating"),
    ("execute_search", "This is a read-only operation.", {}, "read"),
    ("set_difference", "Read-only: the difference of two sets.", {}, "read"),
    ("run_report", "A readonly report.", {}, "read"),
    ("update_check", "Looks for news (read only).", {}, "read"),
    ("frobnicate", "A read-only look at the frobs.", {}, "read"),
    ("frobnicate", "Looks at the frobs.", {}, "undecided"),
    ("frobnicate", "", READ_HINT, "read"),
    ("delete_preview", "", READ_HINT, "read"),
    ("get-sum", "Returns the sum of two numbers", READ_HINT, "read"),
    ("git_log", "Shows the commit logs", READ_HINT, "read"),
    ("open_nodes", "Open specific nodes by their names", READ_HINT, "read"),
    ("get_thing", "", WRITE_HINT, "mutating"),
    ("list_things", "", DESTRUCTIVE, "mutating"),
    ("get_thing", "Gets a thing.", {"destructiveHint": False}, "read"),
    ("get_token", "Creates a token and returns it.", {}, "mutating"),
    ("get_next_job", "Returns the next job and deletes it from the queue.", {}, "mutating"),
    ("read_inbox", "Reads messages and marks them; this modifies the mailbox.", {}, "mutating"),
    ("fetch_page", "Fetch a page. Writes it to the cache.", {}, "mutating"),
    ("list_items", "Add an item or list them.", {}, "mutating"),
    ("query_database", "Run any SQL statement.", {}, "mutating"),
    ("show_form", "Can be used to update a form.", {}, "mutating"),
    ("search_users", "Has side effects: the search is saved.", {}, "mutating"),
    ("get_item", "Does not modify anything.", {}, "read"),
    ("get_item", "Never deletes, creates or changes a thing.", {}, "read"),
    ("frobnicate", "Does not modify anything.", {}, "undecided"),
    ("delete_item", "Does not delete anything; only marks it.", {}, "mutating"),
    ("list_updates", "Lists the latest updates and runs.", {}, "read"),
    ("get_settings", "Returns a set of options.", {}, "read"),
    ("list_closed_issues", "Issues that were closed, merged or cancelled.", {}, "read"),
    ("get_creation_time", "The creation time, the last update, who published it.", {}, "read"),
    ("get_item", "This is not read-only.", {}, "mutating"),
    ("create_item", "This is not read-only.", {}, "mutating"),
    ("get_item", "This tool isn't read-only: it creates what is missing.", {}, "mutating"),
    ("get_item", "Read-only, but deletes stale entries.", {}, "undecided"),
    ("get_item", "Read-only.", WRITE_HINT, "undecided"),
    ("get_item", "Deletes it.", READ_HINT, "undecided"),
    ("get_item", "", {"readOnlyHint": True, "destructiveHint": True}, "undecided"),
    ("delete_item", "READ-ONLY", {}, "read"),
    ("delete_item", "This tool is strictly read-only.", {}, "read"),
    ("delete_item", "It's a read-only operation.", {}, "read"),
    # Something else than the tool is read-only, or the tool is with a reserve.
    ("set_mode", "Switch the server to read-only mode.", {}, "mutating"),
    ("toggle_mode", "Puts the server in read-only mode.", {}, "undecided"),
    ("delete_file", "Irreversible! Fails if the file is read-only.", {}, "mutating"),
    ("delete_user", "Drop a user. For read-only access use get_user.", {}, "mutating"),
    ("delete_user", "For read-only access use get_user.", {}, "mutating"),
    ("chmod", "Marks a file as read-only", {}, "mutating"),
    ("lock_branch", "Make a branch read-only.", {}, "mutating"),
    ("frobnicate", "The branch becomes read-only.", {}, "undecided"),
    ("frobnicate", "Read-only mode for the server.", {}, "undecided"),
    ("frobnicate", "Read-only unless force is set.", {}, "undecided"),
    ("frobnicate", "This tool is read-only by default.", {}, "undecided"),
    ("frobnicate", "This tool is read-only if dry_run is true.", {}, "undecided"),
    ("frobnicate", "It is read-only users that are listed.", {}, "undecided"),
    ("list_users", "Lists read-only users.", {}, "read"),
    # Verbs that change something, as descriptions have them.
    ("get_inbox", "Marks all messages as read and returns them.", {}, "mutating"),
    ("get_inbox", "Returns all messages and marks them as read.", {}, "mutating"),
    ("fetch_page", "Saves the page to disk.", {}, "mutating"),
    ("query_db", "Stores the result in a new table.", {}, "mutating"),
    ("get_counter", "Increments the counter and returns it.", {}, "mutating"),
    ("get_counter", "Returns the counter after incrementing it.", {}, "mutating"),
    ("get_next", "Pops the next item.", {}, "mutating"),
    ("get_next", "Returns the next item, pops it.", {}, "mutating"),
    ("get_x", "Purges the cache.", {}, "mutating"),
    ("get_x", "Gets x. Resets its counter.", {}, "mutating"),
    ("get_x", "Gets x, then marks it.", {}, "mutating"),
    # How far a negation reaches.
    ("get_job", "Fetches the next job and, without asking, deletes it.", {}, "mutating"),
    ("get_job", "Fetches the next job and without asking deletes it.", {}, "mutating"),
    ("get_job", "Does not ask, deletes it.", {}, "mutating"),
    ("get_job", "Does not ask and deletes it.", {}, "mutating"),
    ("get_job", "Not only reads but deletes it.", {}, "mutating"),
    ("get_job", "Reads the job without deleting it.", {}, "read"),
    ("get_job", "Does not create, modify or delete anything.", {}, "read"),
    ("get_job", "Has no side effects.", {}, "read"),
    ("get_job", "Never writes or deletes.", {}, "read"),
    ("fetch_mail", "Fetch mail. Does not ask before deleting it from the server.", {}, "mutating"),
    ("fetch_mail", "Fetch mail, never asks for confirmation before removing it.", {}, "mutating"),
    ("get_job", "Does not wait until it deletes the job.", {}, "mutating"),
    # What takes a claim back, or uses the word for something else.
    ("create_widget", "Read-only: no", {}, "mutating"),
    ("create_widget", "Read-only=false", {}, "mutating"),
    ("create_widget", "read-only? no", {}, "mutating"),
    ("create_widget", "It is read-only, in theory", {}, "mutating"),
    ("create_widget", "Bypasses the read-only flag. (read-only)", {}, "mutating"),
    ("frobnicate", "Read-only, mostly.", {}, "undecided"),
    # The passive voice, and words that may mean a change.
    ("get_job", "Returns the oldest job; the job will be deleted.", {}, "undecided"),
    ("get_job", "Returns the job, which is then removed from the queue.", {}, "undecided"),
    ("get_job", "The job gets deleted.", {}, "undecided"),
    ("delete_job", "The job will be deleted.", {}, "mutating"),
    ("get_cart", "A new one is created if there is none.", {}, "undecided"),
    ("get_inbox", "Marks notifications as read.", {}, "undecided"),
    ("query_db", "Any SQL statement, including DROP TABLE", {}, "undecided"),
    ("get_link", "Generates a public share link for the file", {}, "undecided"),
    ("get_next", "Acks messages", {}, "undecided"),
    ("list_files", "Lists files that were deleted", {}, "read"),
    ("list_issues", "Returns issues created by a user, and when each of them is closed.", {}, "read"),
    ("get_file", "Returns whether the file is deleted.", {}, "read"),
    ("get_file", "No files are deleted. Nothing will be changed.", {}, "read"),
    ("list_tasks", "Tasks to be closed, and what can be changed.", {}, "read"),
    ("get_summary", "Generates a summary.", {}, "read"),
    # What is no change, though it sounds like one.
    ("list_orders", "Orders of the last week, and records of payments.", {}, "read"),
    ("list_stores", "Stores nearby, marks and posts.", {}, "read"),
    ("get_summary", "Saves tokens: a summary instead of the text.", {}, "read"),
    ("read_lines", "The line to start reading from.", {}, "read"),
    ("delete_item", "", {"readOnlyHint": None}, "mutating"),
    ("get_item", "", {"readOnlyHint": "false"}, "read"),
]

REPO = "repo: acme/eval-playground"
BUCKET = "bucket: test-sandbox"
FOLDER = "path: /srv/mcp-eval"
FILE = "/srv/mcp-eval/notes.txt"

ARGUMENTS: list[tuple[list[str], Any, bool]] = [
    # (test resources, arguments, stays within them)
    ([REPO], {"repo": "acme/eval-playground"}, True),
    ([REPO], {"repo": "eval-playground"}, True),
    ([REPO], {"owner": "acme", "repo": "eval-playground"}, True),
    ([REPO], {"full_name": "repo: acme/eval-playground"}, True),
    ([REPO], {"name": "playground"}, False),
    ([REPO], {"name": "eval"}, False),
    ([REPO], {"repo": "eval-playground-production"}, False),
    ([REPO], {"repo": "acme/eval-playground-production"}, False),
    ([REPO], {"repo": "Eval-Playground"}, False),
    ([REPO], {"repo": "acme/production"}, False),
    ([REPO], {"repo": "acme/production", "title": "playground"}, False),
    ([REPO], {"repository": "acme/production", "title": "unrelated"}, False),
    ([REPO], {"name": "eval-play"}, False),
    ([REPO], {"name": "ground"}, False),
    ([REPO], {"name": "a"}, False),
    ([REPO], {"name": ""}, False),
    ([REPO], {"name": " "}, False),
    ([REPO], {"name": "-"}, False),
    ([REPO], {"name": "/"}, False),
    ([REPO], {"name": ": "}, False),
    ([REPO], {}, False),
    ([REPO], {"number": 7}, False),
    ([REPO], {"repo": None}, False),
    ([REPO], {"repo": True, "force": False}, False),
    ([REPO], {"eval-playground": "x"}, False),
    ([REPO], {"target": {"repo": {"name": "eval-playground"}}}, True),
    ([REPO], {"target": {"repo": "production"}}, False),
    ([REPO], {"repos": ["eval-playground"]}, True),
    ([REPO], {"repos": [["eval-playground"]]}, True),
    ([REPO], {"repos": [{"slug": "acme/eval-playground"}, {"n": 1}]}, True),
    ([REPO], {"repo": ["acme/eval-playground", "acme/production"]}, False),
    ([REPO], {"url": "https://git.example/acme/production", "name": "eval-playground"}, False),
    ([REPO], {"body": "first line\n/second/line", "repo": "eval-playground"}, True),
    # The label, an owner or another part of a resource is not the resource.
    ([REPO], {"repository": "production", "kind": "repo"}, False),
    ([REPO], {"org": "acme"}, False),
    ([REPO], {"owner": "acme"}, False),
    ([REPO], {"name": "acme/eval"}, False),
    ([REPO], {"title": "eval-playground"}, False),
    ([REPO], {"title": "acme/eval-playground", "repo_name": "production"}, False),
    ([REPO], {"owner": "evil", "repo": "eval-playground"}, False),
    ([REPO], {"org": {"login": "evil"}, "repo": "eval-playground"}, False),
    ([REPO], {"owner": "evil", "repo": "eval-playground", "title": "acme"}, False),
    ([REPO], {"owner": "acme", "repo": "eval-playground-production", "branch": "eval-playground"}, False),
    ([REPO], {"owner": "acme", "repoName": "eval-playground", "branch": "main"}, True),
    ([REPO], {"repo": "acme/eval-playground", "user": "bob"}, True),
    (["acme/eval-playground"], {"owner": "acme", "repo": "eval-playground"}, False),
    (["acme/eval-playground"], {"repo": "acme/eval-playground", "title": "x"}, True),
    (["acme/eval-playground"], {"owner": "acme", "repo": "x", "branch": "eval-playground"}, False),
    (["test-repo: a/b"], {"test-repo": "b"}, True),
    ([BUCKET], {"bucket": "test-sandbox", "key": "a.txt"}, True),
    ([BUCKET], {"Bucket": "production", "Key": "test-sandbox"}, False),
    ([BUCKET], {"bucket": "test"}, False),
    ([BUCKET], {"bucket": "sandbox"}, False),
    ([BUCKET], {"bucket": "test-sandboxes"}, False),
    ([BUCKET, REPO], {"bucket": "test-sandbox", "repo": "acme/eval-playground"}, True),
    ([BUCKET, REPO], {"bucket": "test-sandbox", "repo": "acme/other"}, False),
    ([BUCKET, REPO], {"bucket": "eval-playground"}, False),
    ([FOLDER], {"path": "/srv/mcp-eval"}, True),
    ([FOLDER], {"path": "/srv/mcp-eval/notes.txt"}, False),
    ([FOLDER], {"path": "/srv/mcp-evaluation"}, False),
    ([FOLDER], {"path": "/srv"}, False),
    ([FOLDER], {"path": "/"}, False),
    ([FOLDER], {"path": "/etc/passwd"}, False),
    ([FOLDER], {"path": "/srv/mcp-eval/../etc"}, False),
    ([FOLDER], {"path": "../etc"}, False),
    ([FOLDER], {"path": "~"}, False),
    ([FOLDER], {"folder": "mcp-eval"}, False),
    ([FOLDER], {"name": "mcp-eval"}, False),
    ([FOLDER], {"path": "/srv/mcp-eval", "content": "/bin/sh"}, False),
    ([FILE], {"path": FILE, "content": "hello"}, True),
    ([FILE], {"path": FILE, "content": ""}, True),
    ([FILE], {"path": FILE, "content": "#!/bin/sh\nrm -rf /"}, True),
    ([FILE], {"path": "/etc/evil", "content": FILE}, False),
    ([FILE], {"path": "/etc/evil", "content": "notes"}, False),
    ([FILE], {"path": "notes.txt", "content": "hello"}, False),
    ([FILE], {"path": "evil.txt", "content": "notes.txt"}, False),
    ([FILE], {"path": "evil", "content": "notes.txt"}, False),
    ([FILE], {"path": "/srv/mcp-eval/evil2.txt\n", "content": "notes"}, False),
    ([FILE], {"path": FILE + "\n", "content": "notes"}, False),
    ([FILE], {"path": " /etc/x", "content": "notes"}, False),
    ([FILE], {"path": "\ufeff/etc/x", "content": "notes"}, False),
    ([FILE], {"name": "\u200b/etc/x", "content": "notes"}, False),
    ([FILE], {"name": "/etc/a\nb", "content": "notes"}, False),
    ([FILE], {"name": "evil.txt", "content": "notes"}, False),
    ([FILE], {"name": "sub/evil", "content": "notes"}, False),
    ([FILE], {"name": "sub\\evil", "content": "notes"}, False),
    ([FILE], {"name": "file:etc/evil", "content": "notes"}, False),
    ([FILE], {"file": {"name": "evil"}, "content": "notes"}, False),
    ([FILE], {"edits": [{"outputFile": "evil"}], "content": "notes"}, False),
    ([FILE], {"source": FILE, "destination": "moved.txt"}, False),
    ([FILE], {"source": FILE, "destination": "moved"}, False),
    ([FILE], {"source": FILE, "newPath": "moved"}, False),
    ([FILE], {"source": FILE, "to": "moved"}, False),
    ([FILE], {"source": "mcp-eval", "destination": FILE}, False),
    ([FILE], {"path": FILE, "file_text": "see docs/a.md"}, True),
    ([FILE], {"path": FILE, "contents": "docs/a.md"}, True),
    ([FILE], {"path": FILE, "source_timezone": "anywhere"}, True),
    (["notes", "notes/meeting.md"], {"path": "elsewhere.md", "content": "md"}, False),
    (["notes", "notes/meeting.md"], {"path": "meeting.md", "content": "md"}, False),
    (["notes", "notes/meeting.md"], {"path": "notes/meeting.md", "content": "x"}, True),
    (["notes", "notes/meeting.md"], {"path": "notes/meeting.md ", "content": "x"}, False),
    (["notes", "notes/meeting.md"], {"path": "notes"}, True),
    ([REPO], {"owner": "acme", "repo": "eval-playground", "path": "docs/a.md"}, True),
    ([REPO], {"repo": "eval-playground", "files": [{"path": "a.md", "content": "x"}]}, True),
    ([REPO], {"repo": "eval-playground", "path": "../other/a.md"}, False),
    ([REPO], {"repo": "eval-playground", "path": "/etc/passwd"}, False),
    ([REPO], {"repo": "production", "path": "a.md"}, False),
    ([REPO], {"name": "eval-playground", "path": "a.md"}, False),
    ([FOLDER], {"path": "/srv/mcp-eval", "destination": "moved"}, False),
    ([FILE], {"path": "other.txt", "content": "hello"}, False),
    ([FILE], {"source": FILE, "destination": "/etc/evil"}, False),
    ([FILE], {"source": "/etc/evil", "destination": FILE}, False),
    ([FILE], {"paths": [FILE, "/etc/evil"]}, False),
    ([FILE], {"path": "file:///etc/evil", "name": "notes.txt"}, False),
    ([FILE], {"path": "C:\\evil", "name": "notes.txt"}, False),
    ([FILE], {"path": FILE + "/"}, False),
    ([FILE], {"path": " " + FILE}, False),
    ([FILE], {"path": FILE.upper()}, False),
    ([FILE, FOLDER], {"source": FILE, "destination": "/srv/mcp-eval"}, True),
    ([], {"path": "/srv/mcp-eval"}, False),
    ([], {"path": ""}, False),
    ([""], {"path": ""}, False),
    ([" "], {"path": " "}, False),
    (["x"], {"id": "x"}, True),
    (["x"], {"id": "xx"}, False),
    (["7"], {"id": 7}, False),
    (["https://test.example/api"], {"url": "https://test.example/api"}, True),
    (["https://test.example/api"], {"url": "https://test.example/"}, False),
    (["https://test.example/api"], {"host": "test.example"}, False),
]
