// Package server is the HTTP door of the host: it translates requests into
// turns of the agent and events into a stream. It decides nothing about what
// a session may do; the gate below does that for every door alike.
//
// # The API
//
// JSON in; JSON or server-sent events out. Every POST but an upload has the
// content type application/json. Who asks is said on every request by the headers
// Sluice-Tenant and Sluice-User, "local" where they are absent. There is no
// authentication yet, so the server listens on loopback addresses only and
// believes the headers; authentication will set what they say now.
//
//	POST /v1/sessions                    {"locale":"zh-CN","live":"…","mode":"suggest"}, all optional -> 201 {"session":"…"}
//	POST /v1/sessions/{session}/turns    {"id":"…","text":"…"}, id optional -> events, or the answer
//	POST /v1/sessions/{session}/mode     {"mode":"auto"|"suggest"|"never"}, from the next turn on -> 200; 409 while a turn runs
//	POST /v1/sessions/{session}/clear    {}: the model forgets what was said; 409 while a turn runs
//	GET  /v1/approvals                   the tenant's questions to people, those of ?status= (open by default; "all"), from the one after ?after= on
//	POST /v1/sessions/{session}/approvals/{approval}
//	                                     {"answer":"approve"|"reject","digest":"…","words":"…"}, words optional -> events, or the answer
//	POST /v1/sessions/{session}/calls/{call}/objection
//	                                     {"words":"…"}, optional: the user says no to a call that a notice told them of, for the record; again changes nothing
//	POST /v1/lives/{live}/start          {"detail":{…}}, optional: the live begins, for the caller's tenant
//	POST /v1/lives/{live}/end            {}: it ends; either delivered again changes nothing. See below
//	GET  /v1/lives                       the tenant's lives, from the one after ?after= on
//	GET  /v1/decisions                   what the caller's user was shown at decision points, oldest first, from the one after ?after= on
//	POST /v1/decisions/{decision}/act    {"action":"accept"|"reject"|"modify","instead":"…"}, instead optional: what the user did with it
//	POST /v1/decisions/{decision}/outcome
//	                                     {"lift":0.1}, {"right":false} or {"before":{"gmv":9000},"after":{"gmv":12000}}: what came of it
//	POST /v1/sessions/{session}/uploads  the file's bytes -> 201 {"id":"blob_…","size":…,"type":"…","name":"…","preview":"…"}
//	GET  /v1/tools                       the tools of a new session
//	GET  /healthz                        200 while the process lives
//	GET  /readyz                         200, or 503 where a check fails; each check by name. "degraded":true beside 200
//	                                     where what fails only makes turns worse, such as the index of memories
//
//	curl -s localhost:7700/v1/sessions -H 'Content-Type: application/json' -d '{"locale":"en"}'
//	curl -sN localhost:7700/v1/sessions/$SESSION/turns -H 'Content-Type: application/json' \
//	     -d '{"id":"order-17","text":"what does 1001 cost?"}'
//	curl -s localhost:7700/v1/sessions/$SESSION/turns -H 'Content-Type: application/json' \
//	     -H 'Accept: application/json' -d '{"text":"set 1001 to 89"}'
//	curl -s localhost:7700/v1/sessions/$SESSION/uploads --data-binary @prices.csv -H 'Content-Type: text/csv' \
//	     -H 'Content-Disposition: attachment; filename="prices.csv"'
//	curl -s localhost:7700/readyz
//
// A session's id cannot be guessed, and the session is found only by the
// tenant and the user that made it; to everybody else it does not exist.
//
// A turn streams each host.Event as
//
//	id: 3
//	event: call
//	data: {"kind":"call","time":"…","call":"call_…","tool":"quote","args":"…"}
//
// and ends with "event: answer" (agent.Answer) or "event: problem"
// ({"problem":{…},"user":"…"}: what went wrong, and words for the user in
// their language). A comment keeps the connection alive while nothing is said.
// A reader slower than maxUnread events misses some, which the ids show, but
// never the answer. With Accept: application/json only the answer comes.
// A turn that fails before it has told anything is refused with the status
// that statusOf gives, in either form; the body is that of the problem event.
// The header Sluice-Input has the delivery's id, the caller's or a new one.
//
// A call that a person must confirm ends its turn's answer with "pending": the
// questions with their ids, tools, arguments and digests. An answer names the
// digest of what was seen; it is stored, and the turn that goes on with it is
// streamed like any other. Delivered again it changes nothing, and gives the
// stored end. While a turn of the session runs it is 409: the answer is kept, and
// the same request goes on with it later. Whether it came too late, or says
// otherwise than an earlier one, the refusal or the turn tells.
//
// A decision is an answer at a decision point of the policy (memory.Trace). What the user
// did with it is read from their next words where these are clear; an act puts it on record
// and corrects that, until its outcome is there. An outcome moves the trust of the user in
// the decision's domain, once: an answer that was accepted needs its lift, given or made by
// the policy's formula of the figures before and after; another one whether the agent was
// right. Either delivered again changes nothing. Other users' decisions do not exist here.
//
// The end of a live is stored at once and answered only after the hooks have heard of it:
// memory keeps what each user did in it, for up to five minutes. A client that goes away
// breaks nothing off; what is not done by then is done again later.
//
// An upload is kept for its session as a blob, up to Config.UploadBytes. Its id
// may be named in a turn, and skills that may read blobs find it by that. The
// preview is what a model would see of it: JSON in its shape, the ends of other
// text, nothing of what is neither. Content-Disposition gives the name and is
// required; a name that is not ASCII may stand there percent-encoded, as filename* (RFC 6266).
//
// # Life of a request
//
//  1. ServeHTTP refuses what does not name a loopback host (a web page that
//     rebinds its name to 127.0.0.1 is stopped here) and a POST that is not
//     application/json, or an upload without Content-Disposition (neither of
//     which a page can send across origins unasked). There is no CORS.
//  2. The body is read up to its limit and decoded strictly: what is not known
//     is refused with the nearest name.
//  3. A turn takes one of Config.Turns places, or is refused with 429. It keeps
//     the place until it ends.
//  4. The turn runs on its own: a client that goes away does not stop it. It is
//     finished and stored, and the same delivery id given again gets the
//     answer, marked "repeated"; while the turn still runs, 409. So turns that
//     nobody listens to are bounded by the same places.
//  5. Events go to the client as they come, then the answer or the problem.
//  6. One line is logged, without bodies. A panic becomes problem 9012 and 500.
//
// # Life of a shutdown
//
//  1. The context of Serve ends. New turns get 503 and readyz says so; the other
//     requests are still served.
//  2. Running turns have Config.Grace to end; then they are cancelled. What they
//     had done is stored, and the same delivery continues them later.
//  3. Connections end when their last bytes are out.
package server
