from datetime import date

READ_ON = date(2026, 11, 29)

_NOTES = {
    "1.12.2": "news/2021/03/03/release-1.12.2.html",
    "1.12.3": "news/2021/04/29/release-1.12.3.html",
    "1.12.5": "news/2021/08/06/release-1.12.5.html",
    "1.13.2": "news/2021/08/06/release-1.13.2.html",
    "1.13.6": "news/2022/02/18/release-1.13.6.html",
    "1.14.3": "news/2022/01/17/release-1.14.3.html",
    "1.15.1": "news/2022/07/06/release-1.15.1.html",
    "1.15.3": "news/2022/11/10/release-1.15.3.html",
    "1.15.4": "2023/03/15/apache-flink-1.15.4-release-announcement/",
    "1.16.1": "news/2023/01/30/release-1.16.1.html",
    "1.16.2": "news/2023/05/25/release-1.16.2.html",
    "1.16.3": "news/2023/11/29/release-1.16.3.html",
    "1.17.1": "news/2023/05/25/release-1.17.1.html",
    "1.17.2": "news/2023/11/29/release-1.17.2.html",
    "1.18.1": "news/2024/01/19/release-1.18.1.html",
    "1.19.1": "news/2024/06/14/release-1.19.1.html",
}
"""Below https://flink.apache.org/."""


def notes(*releases: str) -> tuple[str, ...]:
    return tuple(f"https://flink.apache.org/{_NOTES[release]}" for release in releases)


def pull(*numbers: int) -> tuple[str, ...]:
    return tuple(f"https://github.com/apache/flink/pull/{number}" for number in numbers)


def commit(*hashes: str) -> tuple[str, ...]:
    return tuple(f"https://github.com/apache/flink/commit/{hash}" for hash in hashes)
