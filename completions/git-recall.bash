# bash completion for git recall. Written by docs/generate.py; do not edit.
_git_recall_words() {
    local words=''
    case "$1" in
        init) words='--digest --hooks --share' ;;
        install) words='claude-code codex gemini qwen factory kiro hermes cursor copilot vscode pi openclaw opencode amp cline goose windsurf zed --all --user --project --dry-run' ;;
        uninstall) words='claude-code codex gemini qwen factory kiro hermes cursor copilot vscode pi openclaw opencode amp cline goose windsurf zed --all --user --project --dry-run' ;;
        index) words='--full --quiet -C' ;;
        query) words='-n --json --stdin --legs --gate --at' ;;
        show) words='-C --at' ;;
        digest) words='--prompt --session --at --json' ;;
        why) words='--last --session --at --json' ;;
        log) words='-n --session --outcome -v --json' ;;
        diff) words='--prompt' ;;
        remember) words='--type --priority --tag --title --supersedes --commit --force' ;;
        stats) words='-n --json' ;;
        report) words='--html' ;;
        audit) words='--min -n --json' ;;
        status) words='--json' ;;
        gc) words='--quiet' ;;
        doctor) words='--json' ;;
        test) words='--add --at --json' ;;
        eval) words='--legs --at --json' ;;
        demo) words='--keep' ;;
        server) words='status stop run --json' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$2"))
}

_git_recall() {
    local cur=${COMP_WORDS[COMP_CWORD]} verb='' word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in
            recall | -*) ;;
            *) verb=$word; break ;;
        esac
    done
    if [ -n "$verb" ]; then
        _git_recall_words "$verb" "$cur"
    else
        COMPREPLY=($(compgen -W 'init uninit install uninstall index query show digest why log diff remember stats report audit status gc check doctor test eval demo merge-driver hook mcp server' -- "$cur"))
    fi
}

complete -o bashdefault -o default -F _git_recall git-recall
