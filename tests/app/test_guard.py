"""Who may ask, and what a page may make the application do."""

import pytest
from app_server import Here, Visitor, served
from commands import run

CSV = b"score,label\n1.5,target\n0.5,target\n-0.5,nontarget\n0.75,nontarget\n-2,nontarget\n"


@pytest.fixture
def server(tmp_path, need):
    need("starlette")
    return Here(tmp_path, max_upload=2000)


@pytest.fixture
def visitor(server):
    return Visitor(server).log_in()


def test_the_token_works_once(server, visitor):
    stranger = Visitor(server)
    assert stranger.ask("GET", f"/?token={server.token}").status == 403
    assert stranger.ask("GET", "/").status == 403
    assert visitor.ask("GET", f"/?token={server.token}").status == 303  # whoever has it is let in


def test_nothing_without_a_session(server, visitor):
    wrong = Visitor(server)
    wrong.cookie = visitor.cookie[:-1] + "x"
    for target in ("/", "/p/x/files", "/p/x/documents/a", "/new", "/%2e%2e/etc/passwd"):
        for stranger in (Visitor(server), wrong):
            assert stranger.ask("GET", target).status == 403


def test_another_host_is_refused_with_the_right_cookie(visitor):
    for host in ("evil.test", "evil.test:8000", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:8000", ""):
        assert visitor.ask("GET", "/", host=host).status == 421


def test_a_form_of_another_site_is_refused(server, visitor):
    kind = "application/x-www-form-urlencoded"
    foreign = [{}, {"origin": server.origin, "sec_fetch_site": "cross-site"}]
    foreign += [
        {"origin": origin}
        for origin in ("null", "http://evil.test", "https://127.0.0.1:8000", "http://127.0.0.1:1")
    ]
    for headers in foreign:
        assert visitor.ask("POST", "/new", content_type=kind, **headers).status == 403


def test_every_answer_has_the_policy(server, visitor):
    for answer in (visitor.ask("GET", "/"), visitor.ask("GET", "/nothing"), Visitor(server).ask("GET", "/"),
                   visitor.ask("GET", "/static/app.js")):  # fmt: skip
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers


def test_an_upload_is_bounded_while_it_streams(server, visitor):
    project = visitor.new_project()
    large, pieces = b"x" * 2001, [b"x" * 1000] * 3  # the second without an announced length
    assert [visitor.put(f"{project}/files", "a.csv", body).status for body in (large, pieces, b"")] == [
        413,
        413,
        400,
    ]
    assert "a.csv" not in visitor.ask("GET", f"{project}/files").text
    assert [path for path in server.place.rglob("*") if path.is_file()] == []


def test_a_file_stays_in_its_project_whatever_it_is_called(server, visitor):
    project = visitor.new_project()
    server.session.workers.held = True
    names = ["../../../home/x.csv", "/etc/passwd", "..\\..\\x", ".hidden", "a\x00b.csv", "-rf.csv"]
    for name in names:
        assert visitor.put(f"{project}/files", name, CSV).status == 200
    files = server.place / "tmp" / project[3:] / "files"
    stored = [path for path in server.place.rglob("*") if path.is_file()]
    assert sorted(stored) == sorted(files.iterdir())
    assert len(stored) == len(names)
    assert all(one.read_bytes() == CSV and not one.name.startswith((".", "-")) for one in stored)
    visitor.post(f"{project}/close")
    assert not files.exists()


def test_a_page_names_no_paths(server, visitor):
    project = visitor.new_project()
    visitor.put(f"{project}/files", "a.csv", CSV)
    (server.place / "secret.csv").write_text("canary\n")
    for name in (str(server.place / "secret.csv"), "../../secret.csv", "files/a.csv", "%2e%2e"):
        answers = [
            visitor.post(f"{project}/evaluate", file=name, ci="", seen=""),
            visitor.post(f"{project}/files/read", file=name, use="train"),
            visitor.post(f"{project}/files/remove", file=name),
            visitor.post(f"{project}/save", name=name),
            visitor.post("/open", name=name),
        ]
        assert [answer.status for answer in answers] == [400] * 5, name
        assert not any("canary" in answer.text for answer in answers)
        target = f"{project}/documents/{name.replace('/', '%2f')}"
        assert visitor.ask("GET", target).status == 404
    assert visitor.jobs(project)["read a.csv"]["state"] == "done"


def test_markup_in_names_and_cells_is_text(visitor):
    project = visitor.new_project()
    evil = "<img src=x onerror=alert(1)>"
    table = f"score,label,{evil}\n1,target,{evil}\n0,nontarget,x\n"
    visitor.put(f"{project}/files", f"{evil}.csv", table.encode())
    page = visitor.ask("GET", f"{project}/files").text
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert evil not in visitor.post(f"{project}/save", name=evil).text


def test_a_job_that_waits_is_canceled(server, visitor):
    project = visitor.new_project()
    server.session.workers.held = True
    visitor.put(f"{project}/files", "a.csv", CSV)
    job = visitor.jobs(project)["read a.csv"]
    assert job["state"] == "waiting"
    assert visitor.post(f"{project}/cancel", job=job["id"], page="files").status == 303
    assert visitor.jobs(project)["read a.csv"]["state"] == "canceled"


@pytest.mark.slow
def test_a_server_serves_files_of_the_command_line_and_leaves_nothing_that_is_not_saved(tmp_path, need):
    need("uvicorn")
    for name in ("dev.csv", "eval.csv"):
        (tmp_path / name).write_bytes(CSV)
    with served(tmp_path, str(tmp_path / "dev.csv"), str(tmp_path / "eval.csv")) as server:
        visitor = Visitor(server).log_in()
        answer = visitor.ask("GET", "/")
        assert "server" not in answer.headers
        address = answer.text.partition('href="/p/')[2].partition("/")[0]
        assert {job["state"] for job in visitor.wait(f"/p/{address}").values()} == {"done"}
        assert len(list(tmp_path.glob("tmp/llrkit-app-*/*/files/*.csv"))) == 2
    assert server.said == ""
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "projects").iterdir()) == []


def test_other_machines_are_let_in_on_request_only(need):
    need("uvicorn")
    for options in (("--host", "0.0.0.0", "--no-browser"), ("--max-upload", "much")):
        code, _, err = run("app", *options)
        assert code == 2
        assert options[0] in err
