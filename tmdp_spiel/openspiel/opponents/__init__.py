"""Opponents: converts whatever a user passes to a policy or bot for each player, and plays episodes against them.

resolve                             any opponent as a policy or bot for each player
fixed, wrappers                     known policies; functions and agents as policies and bots
bots, live, adapters/               bots, also of other libraries, programs and servers
episode                             the one generator of episodes
live_game, enumerated_game          episodes on a lazy tree, and on an enumerated one; with history_cache
queried_game                        opponents that are queried at their states
parallel                            many episodes at once
seeding, repetition                 independent random numbers, and a test for them
identity, digests                   whether an opponent is that of an earlier call
user_files                          Python files of users
"""
