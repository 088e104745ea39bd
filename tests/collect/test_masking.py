"""Secrets are masked in a recording, and everything else is kept."""

import pytest

from perfprobe.collect.masking import masked

SECRETS = [
    "--token=S3CR3T",
    "--token S3CR3T",
    "--api-key S3CR3T",
    "--api_key=S3CR3T",
    "--hf-token -S3CR3T",
    "password=S3CR3T",
    "-password S3CR3T",
    "++wandb.api_key=S3CR3T",
    "trainer.logger.apiKey=S3CR3T",
    "WANDB_API_KEY=S3CR3T",
    "--aws-secret-access-key S3CR3T",
    "--set=db.password=S3CR3T",
    "--url=postgres://me:S3CR3T@db/runs",
    "https://S3CR3T:x@host/repo.git",
    "https://host/data?token=S3CR3T&page=2",
    "--header=Authorization:S3CR3T",
    '{"api_key":"S3CR3T","lr":1}',
    "--push hf_S3CR3TS3CR3TS3CR3TS3CR3T",
    "--push=ghp_S3CR3TS3CR3TS3CR3TS3CR3T",
    "run sk-proj-S3CR3TS3CR3TS3CR3T",
]
PLAIN = [
    "train.py --lr 0.1 --epochs=3 --name run_7",
    "--tokenizer gpt2 --tokenizer=bert --max-tokens 100 --num_tokens=5",
    "--pad-token <pad> --eos_token=</s> --max_token=9",
    "--key-value 3 --keys=7 --keyword x --attention-key-dim=64",
    "model.passes=2 --bypass=3 --compass 1",
    "https://host/data?page=2 s3://bucket/secrets/file",
    "-- --token",
    "a=b=c",
]


@pytest.mark.parametrize("line", SECRETS)
def test_a_secret_is_masked(line: str) -> None:
    (shown,) = {" ".join(masked(line.split()))}
    assert "S3CR3T" not in shown
    assert "***" in shown


@pytest.mark.parametrize("line", PLAIN)
def test_other_text_is_kept(line: str) -> None:
    assert " ".join(masked(line.split())) == line


def test_text_around_a_secret_is_kept() -> None:
    assert masked(["--token=a b c", "https://h/?token=x&page=2", "--token", "--lr", "3"]) == [
        *("--token=***", "https://h/?token=***&page=2", "--token", "--lr", "3"),
    ]
    assert masked(["-H", "Authorization: Bearer abc def"]) == ["-H", "Authorization: *** def"]
