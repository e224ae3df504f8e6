# Completion of podwright for fish.

function __podwright_pods
    podwright get pods -o name 2>/dev/null | string replace -r '^pods?/' ''
end

set -l commands get describe logs exec attach port-forward top check waits state log-level version

complete -c podwright -f
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a get -d 'list pods, nodes or events'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a describe -d 'all about a pod'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a logs -d 'output of a container'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a exec -d 'run a command in a container'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a attach -d 'join a container'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a port-forward -d 'forward ports into a pod'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a top -d 'CPU and memory in use'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a check -d 'what is wrong with a file'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a waits -d 'what the agent waits for'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a state -d 'what the agent keeps over a restart'
complete -c podwright -n "__fish_seen_subcommand_from state" -a 'show check export'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a log-level -d 'change the verbosity'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -a version -d 'the version'

complete -c podwright -n "not __fish_seen_subcommand_from $commands" -l config -r -F -d 'configuration file'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -l config-dir -r -F -d 'drop-in files'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -l pod-manifest-path -r -F -d 'manifests'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -l root-dir -r -F -d 'state'
complete -c podwright -n "not __fish_seen_subcommand_from $commands" -l logging-format -x -a 'text json' -d 'form of the log'
complete -c podwright -l local-socket -r -F -d 'socket of the commands'

complete -c podwright -n '__fish_seen_subcommand_from get; and not __fish_seen_subcommand_from pods nodes events' -a 'pods nodes events'
complete -c podwright -n '__fish_seen_subcommand_from pods' -a '(__podwright_pods)'
complete -c podwright -n '__fish_seen_subcommand_from get' -s o -x -a 'wide yaml json name' -d form
complete -c podwright -n '__fish_seen_subcommand_from get' -s w -d watch
complete -c podwright -n '__fish_seen_subcommand_from describe; and not __fish_seen_subcommand_from pod' -a pod
complete -c podwright -n '__fish_seen_subcommand_from pod logs exec attach port-forward' -a '(__podwright_pods)'
complete -c podwright -n '__fish_seen_subcommand_from logs' -s f -d follow
complete -c podwright -n '__fish_seen_subcommand_from logs' -l tail -x -d lines
complete -c podwright -n '__fish_seen_subcommand_from logs' -l since -x -d 'not older than'
complete -c podwright -n '__fish_seen_subcommand_from logs' -l previous -d 'the run before'
complete -c podwright -n '__fish_seen_subcommand_from logs' -l timestamps -d 'with times'
complete -c podwright -n '__fish_seen_subcommand_from logs exec attach' -s c -x -d container
complete -c podwright -n '__fish_seen_subcommand_from exec attach' -s i -d input
complete -c podwright -n '__fish_seen_subcommand_from exec attach' -s t -d terminal
complete -c podwright -n '__fish_seen_subcommand_from top' -a pods
complete -c podwright -n '__fish_seen_subcommand_from check' -F
complete -c podwright -n '__fish_seen_subcommand_from check' -a seccomp
