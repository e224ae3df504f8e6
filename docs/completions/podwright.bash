# Completion of podwright for bash.

# The names of pods, or of a pod's containers, as the agent has them; nothing where it does not answer.
_podwright_pods() { podwright get pods -o name 2>/dev/null | sed 's|^pods\?/||'; }

_podwright() {
  local word previous command="" i
  word=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      get | describe | logs | exec | attach | port-forward | top | check | waits | state | log-level | version)
        command=${COMP_WORDS[i]}
        break
        ;;
    esac
  done

  case $previous in
    --config | --local-socket | --lock-file)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
    --config-dir | --root-dir | --cert-dir | --pod-manifest-path)
      mapfile -t COMPREPLY < <(compgen -d -- "$word")
      return
      ;;
    --logging-format)
      mapfile -t COMPREPLY < <(compgen -W "text json" -- "$word")
      return
      ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -W "wide yaml json name" -- "$word")
      return
      ;;
  esac

  local choices=""
  case $command in
    "")
      choices="get describe logs exec attach port-forward top check waits state log-level version --help --config --config-dir
        --pod-manifest-path --container-runtime-endpoint --root-dir --hostname-override --node-ip --local-socket
        --lock-file --strict --vmodule --logging-format -v"
      ;;
    get)
      case $previous in
        get) choices="pods nodes events" ;;
        pods | pod) choices="$(_podwright_pods) -o -w" ;;
        *) choices="-o -w" ;;
      esac
      ;;
    describe)
      case $previous in
        describe) choices="pod" ;;
        *) choices=$(_podwright_pods) ;;
      esac
      ;;
    logs) choices="$(_podwright_pods) -c -f --tail --since --previous --timestamps" ;;
    exec) choices="$(_podwright_pods) -i -t -it -c --" ;;
    attach) choices="$(_podwright_pods) -i -t -it -c" ;;
    port-forward) choices=$(_podwright_pods) ;;
    top) choices="pods" ;;
    check)
      mapfile -t COMPREPLY < <(
        [ "$previous" = check ] && compgen -W "seccomp" -- "$word"
        compgen -f -- "$word"
      )
      compopt -o filenames 2>/dev/null
      return
      ;;
    state) choices="show check export --root-dir" ;;
    log-level) choices="0 1 2 3 4 5 6 7 8 9 10" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
}

complete -F _podwright podwright
