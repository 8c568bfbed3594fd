// Parks a failed message in Parkade. Go 1.21 or newer, standard library alone: go run park.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

var client = &http.Client{Timeout: 5 * time.Second}

var repeated = map[int]bool{408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true}

// Failure describes one message that could not be processed.
type Failure struct {
	EventID, ErrorCode, ContentType string
	Payload                         []byte
	Attempts                        int
	Err                             error
	// Stack is where it failed: debug.Stack() in the deferred recover, or at the place of the error.
	Stack []byte
}

// Park returns nil when Parkade has stored the event, now or before. Otherwise do not acknowledge the message.
func Park(failure Failure) error {
	event, err := json.Marshal(map[string]any{
		"source":        os.Getenv("PARKADE_SOURCE"),
		"eventId":       failure.EventID,
		"errorCode":     failure.ErrorCode,
		"error":         map[string]string{"type": typeOf(failure.Err), "message": failure.Err.Error(), "stack": string(failure.Stack)},
		"attempts":      failure.Attempts,
		"contentType":   failure.ContentType,
		"payloadBase64": failure.Payload, // json writes bytes as base64
	})
	if err != nil {
		return err
	}
	for attempt := 0; attempt < 5; attempt++ {
		status, asked, err := post(event)
		// Only 202 means stored: a proxy may have led the request elsewhere.
		if err == nil && status == http.StatusAccepted {
			return nil
		}
		if err == nil && !repeated[status] {
			return fmt.Errorf("parkade answered %d", status)
		}
		// Full jitter: consumers that fail together do not come back together.
		wait := time.Duration(rand.Int63n(int64(min(200*time.Millisecond<<attempt, 5*time.Second))))
		if seconds, err := strconv.Atoi(asked); err == nil {
			wait = max(wait, time.Duration(seconds)*time.Second)
		}
		if wait > 10*time.Second {
			break
		}
		time.Sleep(wait)
	}
	return errors.New("parkade cannot be reached")
}

func post(event []byte) (status int, retryAfter string, err error) {
	request, err := http.NewRequest(http.MethodPost, os.Getenv("PARKADE_URL")+"/api/v1/events", bytes.NewReader(event))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("authorization", "Bearer "+os.Getenv("PARKADE_TOKEN"))
	if err := sign(request, event); err != nil {
		return 0, "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("retry-after"), nil
}

// For a source that takes signed requests only (Standard Webhooks). Of each try anew: a signature counts for five minutes.
func sign(request *http.Request, body []byte) error {
	secret := os.Getenv("PARKADE_SIGNING_SECRET")
	if secret == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return fmt.Errorf("PARKADE_SIGNING_SECRET is not base64: %w", err)
	}
	id, timestamp := fmt.Sprintf("msg_%016x", rand.Uint64()), strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", timestamp)
	request.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// The type of the innermost error: wrapping by fmt.Errorf hides it.
func typeOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return fmt.Sprintf("%T", err)
}

// NoLines is an error of this example.
type NoLines struct{ Order int }

func (err *NoLines) Error() string { return fmt.Sprintf("order %d has no lines", err.Order) }

func main() {
	message := []byte(`{"orderId": 77}`)
	err := fmt.Errorf("handle: %w", &NoLines{Order: 77})
	failure := Failure{
		EventID: os.Getenv("EVENT_ID"), ErrorCode: "VALIDATION_ERROR", ContentType: "application/json",
		Payload: message, Attempts: 3, Err: err, Stack: debug.Stack(),
	}
	if err := Park(failure); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
