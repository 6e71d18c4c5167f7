package agent

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
)

// maxTopics bounds the topics that a session keeps; the oldest go first. With
// a cut every 20 inputs it is more than anybody says in a day.
const maxTopics = 200

// sceneNow says what the session is about now, by its live.
func (t *turn) sceneNow(ctx context.Context) (string, error) {
	if t.session.Live == "" {
		return "", nil
	}
	live, began, err := t.Store.Live(ctx, t.ref.Tenant, t.session.Live)
	switch {
	case err != nil:
		return "", err
	case !began:
		return window.PreLive, nil
	case live.EndedAt.IsZero():
		return window.OnLive, nil
	}
	return window.PostLive, nil
}

// enterScene notes from which message on a scene holds, where it changes.
func (m *sessionValue) enterScene(scene string, message int) {
	if scene != m.scene() {
		m.Scenes = append(m.Scenes, window.SceneStart{Message: message, Scene: scene})
	}
}

// scene gives the scene that holds.
func (m *sessionValue) scene() string {
	if len(m.Scenes) == 0 {
		return ""
	}
	return m.Scenes[len(m.Scenes)-1].Scene
}

// topics gives the session's topics and their version.
func (c *conversation) topics(ctx context.Context, store *state.Store) (kept topicsValue, version int64, err error) {
	values, err := store.LoadState(ctx, c.ref, keyTopics)
	if err != nil {
		return kept, 0, err
	}
	return read(topicsForm(), values, keyTopics)
}

// cutTopics cuts what was said since the last cut into topics, every so many
// inputs, and gives the change that is to be stored with the turn's end. The
// last topic may have gone on, so it is cut again with what followed.
func (t *turn) cutTopics(ctx context.Context) ([]state.Change, error) {
	if t.meta.Inputs-t.meta.CutAt < t.TopicRounds {
		return nil, nil
	}
	kept, version, err := t.topics(ctx, t.Store)
	if err != nil {
		return nil, err
	}
	from := t.meta.Cleared
	if n := len(kept.Topics); n > 0 {
		from = kept.Topics[n-1].From
		kept.Topics = kept.Topics[:n-1]
	}
	talk, err := t.talkFrom(ctx, max(from, t.count()-maxMessages))
	if err != nil {
		return nil, err
	}
	kept.Topics = append(kept.Topics, t.titled(ctx, window.Topics(talk, t.meta.Scenes, t.Scenes))...)
	kept.Topics = kept.Topics[max(0, len(kept.Topics)-maxTopics):]
	t.meta.Topics, t.meta.CutAt = len(kept.Topics), t.meta.Inputs
	return []state.Change{{Key: keyTopics, Version: version, Data: topicsForm().encode(kept)}}, nil
}

// talkFrom gives the conversation from a message on, also where the turn itself
// has loaded less of it.
func (t *turn) talkFrom(ctx context.Context, from int) (window.Conversation, error) {
	messages := t.messages
	switch {
	case from < t.first:
		earlier, err := loadMessages(ctx, t.Store, t.ref, from, t.first)
		if err != nil {
			return window.Conversation{}, err
		}
		messages = slices.Concat(earlier, messages)
	default:
		messages = messages[from-t.first:]
	}
	return window.Conversation{Messages: messages, First: from, IsRead: t.changesNothing}, nil
}

// titled asks the small model for better titles, where there is one.
func (t *turn) titled(ctx context.Context, topics []window.Topic) []window.Topic {
	if t.Small == nil || len(topics) == 0 || t.spare() != nil {
		return topics
	}
	asked := window.AskTitles(topics)
	reply, err := t.Small.Complete(ctx, asked, nil)
	if err != nil {
		return topics
	}
	t.spend(t.SmallPrice.cost(usage(asked, reply)))
	named, _ := window.Titled(topics, reply.Text) // without a good answer they keep their titles
	return named
}

// searchTopics answers a call of the search for topics, which is no tool of a
// skill. It reports false for any other call.
func (t *turn) searchTopics(ctx context.Context, c model.Call) (model.Message, bool, error) {
	if c.Tool != window.TopicsTool || t.meta.Topics == 0 {
		return model.Message{}, false, nil
	}
	kept, _, err := t.topics(ctx, t.Store)
	return window.AnswerTopics(c, kept.Topics), true, err
}

// Topics gives the topics of a session, oldest first, or those of a scene, or
// those that words are about, best first. A session has topics after every
// Config.TopicRounds inputs.
func Topics(ctx context.Context, store *state.Store, ref host.SessionRef, scene, query string) ([]window.Topic, error) {
	c := conversation{ref: ref}
	kept, _, err := c.topics(ctx, store)
	if err != nil || scene == "" && query == "" {
		return kept.Topics, err
	}
	return window.FindTopics(kept.Topics, scene, query), nil
}
