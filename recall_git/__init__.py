"""recall-git: a Git repository of Markdown notes as an agent's working memory."""

__version__ = "0.1.0"
