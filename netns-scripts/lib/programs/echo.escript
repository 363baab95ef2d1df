#!/usr/bin/env escript
%% An echo server, or a client of it with many connections at a time, in Erlang:
%% `echo.escript serve PORT`, or `echo.escript call PORT HOST`.
-mode(compile).
-define(CONNECTIONS, 100).
-define(SIZE, 200000).
-define(QUESTIONS, 200).

main(["serve", Port]) ->
    Options = [binary, {packet, 0}, {active, false}, {backlog, 256}, {reuseaddr, true}],
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), Options),
    accept(Listener);
main(["call", Port, Host]) ->
    Numbers = lists:seq(1, ?CONNECTIONS),
    %% Much at once by connections that are half closed, and questions of which each waits for its
    %% answer.
    tell("streams", each(fun(N) -> stream(Host, list_to_integer(Port), N) end, Numbers)),
    tell("questions", each(fun(N) -> ask(Host, list_to_integer(Port), N) end, Numbers)).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Serving = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Serving),
    Serving ! go,
    accept(Listener).

%% The runtime reports what comes by its own poll of all sockets.
serve(Socket) ->
    ok = inet:setopts(Socket, [{exit_on_close, false}, {active, once}]),
    receive
        {tcp, Socket, Part} ->
            ok = gen_tcp:send(Socket, Part),
            serve(Socket);
        {tcp_closed, Socket} ->
            gen_tcp:close(Socket)
    end.

connect(Host, Port) ->
    {ok, Socket} = gen_tcp:connect(Host, Port, [binary, {packet, 0}, {active, false}], 10000),
    Socket.

data(N, Size) ->
    binary:copy(word(N), Size div 4).

%% Not crypto:hash: that is in another package.
word(N) ->
    <<(erlang:phash2({N, N * 7919}, 1 bsl 32)):32>>.

stream(Host, Port, N) ->
    Socket = connect(Host, Port),
    Data = data(N, ?SIZE),
    Self = self(),
    spawn_link(fun() ->
        ok = gen_tcp:send(Socket, Data),
        ok = gen_tcp:shutdown(Socket, write),
        Self ! sent
    end),
    Got = take(Socket, []),
    receive sent -> ok end,
    gen_tcp:close(Socket),
    Got =:= Data.

take(Socket, Parts) ->
    case gen_tcp:recv(Socket, 0, 30000) of
        {ok, Part} -> take(Socket, [Part | Parts]);
        {error, closed} -> list_to_binary(lists:reverse(Parts))
    end.

ask(Host, Port, N) ->
    Socket = connect(Host, Port),
    Right = lists:all(fun(At) ->
        Data = data(N + At, 64),
        ok = gen_tcp:send(Socket, Data),
        gen_tcp:recv(Socket, 64, 30000) =:= {ok, Data}
    end, lists:seq(1, ?QUESTIONS)),
    gen_tcp:close(Socket),
    Right.

%% Each in a process of its own, all at a time.
each(Work, Numbers) ->
    Self = self(),
    Jobs = [spawn_monitor(fun() -> Self ! {self(), Work(N)} end) || N <- Numbers],
    [receive
        {Job, Right} -> Right;
        {'DOWN', Monitor, process, Job, Reason} when Reason =/= normal -> Reason
    end || {Job, Monitor} <- Jobs].

tell(What, Results) ->
    Right = length([true || true <- Results]),
    io:format("~s: ~b of ~b are right~n", [What, Right, length(Results)]),
    [io:format("~s: ~p~n", [What, Other]) || Other <- lists:usort(Results), Other =/= true].
